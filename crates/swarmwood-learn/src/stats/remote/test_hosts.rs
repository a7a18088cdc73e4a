//! Hosts in this process, for tests of learners.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{HostTransport, RemoteBackends, ShardHost, TransportError};
use crate::dataset::Dataset;

/// Hosts in this process, some of which are lost at some of the exchanges.
pub(crate) struct TestHosts<'d> {
    data: &'d Dataset,
    hosts: Vec<Mutex<Option<ShardHost>>>,
    exchanges: AtomicUsize,
    /// Whether a host is lost, given the number of the exchange and the host.
    fault: fn(usize, usize) -> Fault,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    /// The host is gone before it sees the message.
    Before,
    /// The host has worked, but its reply is lost, and it with it.
    After,
}

impl<'d> TestHosts<'d> {
    pub(crate) fn new(data: &'d Dataset, hosts: usize, fault: fn(usize, usize) -> Fault) -> Self {
        let count = RemoteBackends::shards(data.rows(), hosts).len();
        let hosts = TestHosts { data, hosts: Vec::new(), exchanges: AtomicUsize::new(0), fault };
        let all = (0..count).map(|host| Mutex::new(Some(hosts.host(host, count))));
        TestHosts { hosts: all.collect(), ..hosts }
    }

    fn host(&self, host: usize, hosts: usize) -> ShardHost {
        let shards = RemoteBackends::shards(self.data.rows(), hosts)[host].clone();
        ShardHost::of_dataset(self.data, shards, 1 + host % 2).expect("shards of the data set")
    }
}

impl HostTransport for TestHosts<'_> {
    fn exchange(&self, messages: &[(usize, Vec<u8>)]) -> Vec<Result<Vec<u8>, TransportError>> {
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed);
        let answer = |(host, message): &(usize, Vec<u8>)| {
            let mut place = self.hosts[*host].lock().expect("no test panics while it holds a host");
            let fault = (self.fault)(number, *host);
            if fault == Fault::Before {
                *place = None;
            }
            let reply = place.as_mut().map(|host| host.handle(message));
            if fault == Fault::After {
                *place = None;
                return Err(TransportError::Lost);
            }
            reply.ok_or(TransportError::Lost)
        };
        messages.iter().map(answer).collect()
    }

    fn rebuild(&self, host: usize) -> Result<(), TransportError> {
        *self.hosts[host].lock().expect("no test panics while it holds a host") =
            Some(self.host(host, self.hosts.len()));
        Ok(())
    }
}
