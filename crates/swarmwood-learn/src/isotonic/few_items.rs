//! The closure of greatest gain among few items, without memory of its own.
//!
//! In the network of a closure, flow passes freely from an item to whatever must not be below it. So
//! it is a transport from items that gain to items that lose: each gain is shipped to losses above
//! it until no gain or no such loss is left. What gains are left, with all that is above them and
//! all that ships there, is the closure.

use super::{CAPACITY_TOLERANCE, FEW_ITEMS};

/// Calls with every item of a set, ascending.
#[inline]
pub(super) fn each_item(mut set: u64, mut call: impl FnMut(usize)) {
    while set != 0 {
        call(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}

/// The part of a set that gains most by being raised, with every item of the set that must not be
/// below it: `above` has those of each item, itself included.
pub(super) fn closure(set: u64, above: &[u64], gain: impl Fn(usize) -> f64) -> u64 {
    let mut transport = Transport { amounts: [0.0; FEW_ITEMS], gains: 0, losses: 0, set, above };
    let mut largest = 0.0_f64;
    each_item(set, |at| {
        let gain = gain(at);
        largest = largest.max(gain.abs());
        transport.amounts[at] = gain.abs();
        if gain > 0.0 {
            transport.gains |= 1 << at;
        } else if gain < 0.0 {
            transport.losses |= 1 << at;
        }
    });
    transport.left_over(CAPACITY_TOLERANCE * largest)
}

/// What is shipped from gains to losses.
struct Transport<'a> {
    /// What is left of each gain and of each loss.
    amounts: [f64; FEW_ITEMS],
    gains: u64,
    losses: u64,
    set: u64,
    above: &'a [u64],
}

/// The amounts between two items, by gain and loss, for the pairs that have any.
type Shipped = Vec<(u8, u8, f64)>;

impl Transport<'_> {
    /// Ships all that can be shipped; the closure of what is left.
    fn left_over(&mut self, least: f64) -> u64 {
        let mut shipped = Shipped::new();
        let mut left = 0;
        let mut gains = self.gains;
        while gains != 0 {
            let from = gains.trailing_zeros() as usize;
            if self.amounts[from] <= least {
                gains &= gains - 1;
                continue;
            }
            if let Some(reached) = self.ship(from, least, &mut shipped) {
                // No loss is left for whatever ships into this set: it is a part of the closure.
                left |= reached;
                gains &= gains - 1;
            }
        }
        left
    }

    /// Ships some of a gain along a shortest way, which may redirect what others ship. If there is no
    /// way, the gains and losses that are reached, with all above them.
    fn ship(&mut self, from: usize, least: f64, shipped: &mut Shipped) -> Option<u64> {
        let mut before = [usize::MAX; FEW_ITEMS];
        let (mut reached, mut queue, mut ends) = (1_u64 << from, [0_u8; FEW_ITEMS], 1);
        queue[0] = from as u8;
        let mut at = 0;
        let mut found = None;
        while at < ends && found.is_none() {
            let gain = usize::from(queue[at]);
            at += 1;
            let losses = self.above[gain] & self.losses & !reached;
            reached |= losses;
            each_item(losses, |loss| {
                before[loss] = gain;
                if self.amounts[loss] > least && found.is_none() {
                    found = Some(loss);
                }
            });
            for &(other, loss, amount) in shipped.iter() {
                let is_new = reached >> other & 1 == 0 && losses >> loss & 1 == 1;
                if is_new && amount > least {
                    reached |= 1 << other;
                    before[usize::from(other)] = usize::from(loss);
                    queue[ends] = other;
                    ends += 1;
                }
            }
        }

        let Some(loss) = found else {
            let mut closed = 0;
            each_item(reached & self.gains, |gain| closed |= self.above[gain]);
            return Some(closed & self.set);
        };
        self.send(from, loss, &before, shipped);
        None
    }

    /// Sends along a way what it can take.
    fn send(&mut self, from: usize, to: usize, before: &[usize; FEW_ITEMS], shipped: &mut Shipped) {
        let held = |shipped: &Shipped, gain: usize, loss: usize| {
            let is_it =
                |&&(a, b, _): &&(u8, u8, f64)| usize::from(a) == gain && usize::from(b) == loss;
            shipped.iter().find(is_it).map_or(0.0, |&(_, _, amount)| amount)
        };
        let mut flow = self.amounts[from].min(self.amounts[to]);
        let mut gain = before[to];
        while gain != from {
            let loss = before[gain];
            flow = flow.min(held(shipped, gain, loss));
            gain = before[loss];
        }

        self.amounts[from] -= flow;
        self.amounts[to] -= flow;
        let mut change = |gain: usize, loss: usize, by: f64| {
            let is_it =
                |&(a, b, _): &(u8, u8, f64)| usize::from(a) == gain && usize::from(b) == loss;
            match shipped.iter_mut().find(|one| is_it(one)) {
                Some((_, _, amount)) => *amount += by,
                None => shipped.push((gain as u8, loss as u8, by)),
            }
        };
        let mut loss = to;
        loop {
            let gain = before[loss];
            change(gain, loss, flow);
            if gain == from {
                break;
            }
            loss = before[gain];
            change(gain, loss, -flow);
        }
    }
}
