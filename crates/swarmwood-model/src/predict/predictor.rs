//! Batch prediction: block after block, column after column, tree after tree.

use std::ops::Range;

use crate::ensemble::{Body, LinearFunction, Member, Model, first_members};
use crate::predict::block::{Block, BlockError, FeatureValue, level_counts};
use crate::predict::columns::{BlockRows, TailBuffer};
use crate::predict::compile::{
    CodeTest, DescentNode, LeafLookup, ModelProgram, SelectOperands, SelectStep, TreeProgram,
    compile,
};
use crate::predict::kernels::avx512::{Avx512, Planes, SelectSource};
use crate::predict::kernels::{
    Codes, Instructions, KernelTask, ROWS, add_leaves, choose, choose_leaves, choose_left_leaf,
    choose_right_leaf, dispatch, mark, translate,
};
use crate::predict::traverse::{add_linear, add_trees, unknown_to_missing};
use crate::schema::Schema;

/// Fewer rows than this are predicted by traversal: a block costs the same however few of its rows
/// are used.
const FEW_ROWS: usize = 96;

/// Number of trees whose leaf values are added together, so that a row's sum is loaded and stored
/// once for all of them.
const GROUP: usize = 4;

/// A model compiled for batch prediction.
///
/// It borrows nothing and can be shared between threads, each with its own range of rows.
///
/// ```
/// use swarmwood_model::{*, predict::{Block, Predictor, ColumnView}};
/// # let split = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
/// # let leaf = |value| Leaf { value, cover: 1.0 };
/// # let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 1.0, cover: 2.0 };
/// # let tree = Tree { nodes: vec![node], leaves: vec![leaf(1.0), leaf(2.0)] };
/// # let model = Model {
/// #     schema: Schema {
/// #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
/// #         target: Target { name: "price".into(), kind: TargetKind::Number },
/// #         dates: Vec::new(),
/// #     },
/// #     link: Link::Identity,
/// #     objective: "squared".into(),
/// #     base: vec![0.5],
/// #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
/// #     provenance: Provenance::default(),
/// #     calibration: Calibration::default(),
/// # };
/// // A model with one split: age > 30 (or missing) adds 2, else 1; it starts from 0.5.
/// let ages = [29.0, 31.0, f64::NAN];
/// let columns = [ColumnView::Number(&ages)];
/// let mut raw = [0.0; 3];
/// Predictor::new(&model).raw(&Block { columns: &columns, rows: 3 }, None, &mut raw)?;
/// assert_eq!(raw, [1.5, 2.5, 2.5]);
/// # Ok::<(), predict::BlockError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Predictor {
    schema: Schema,
    levels: Vec<Option<u32>>,
    base: Vec<f64>,
    members: Vec<Member>,
    functions: Vec<LinearFunction>,
    program: ModelProgram,
    instructions: Instructions,
}

impl Predictor {
    /// Compiles a model, which must pass [`Model::check`].
    ///
    /// # Panics
    /// Possibly, if the model does not pass [`Model::check`].
    pub fn new(model: &Model) -> Self {
        let levels = level_counts(&model.schema);
        let members = model.members().to_vec();
        let functions = match &model.body {
            Body::Trees(_) => Vec::new(),
            Body::Linear(functions) => functions.clone(),
        };
        let program = compile(&members, &levels);
        let instructions = Instructions::detect();
        let (schema, base) = (model.schema.clone(), model.base.clone());
        Predictor { schema, levels, base, members, functions, program, instructions }
    }

    /// Number of raw scores per row.
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// Number of trees of the first `first_rounds` rounds, or of all.
    pub fn trees(&self, first_rounds: Option<usize>) -> usize {
        first_members(&self.members, self.outputs(), first_rounds).len()
    }

    /// Number of programs of the first trees.
    fn programs(&self, trees: usize) -> usize {
        let all = self.program.trees.len();
        self.program.first_of_member.get(trees).copied().unwrap_or(all)
    }

    /// Writes the raw scores of all rows to `out`, row by row, [`Predictor::outputs`] each, of the
    /// first `first_rounds` rounds or of all.
    ///
    /// A linear model has no rounds and ignores `first_rounds`.
    pub fn raw(
        &self,
        block: &Block<'_>,
        first_rounds: Option<usize>,
        out: &mut [f64],
    ) -> Result<(), BlockError> {
        self.raw_range(block, 0..block.rows, first_rounds, out)
    }

    /// Writes the raw scores of some rows of a block; results do not depend on the division into
    /// ranges.
    pub(super) fn raw_range(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        first_rounds: Option<usize>,
        out: &mut [f64],
    ) -> Result<(), BlockError> {
        let outputs = self.outputs();
        self.check(block, &rows, out.len(), outputs)?;
        let trees = self.trees(first_rounds);
        let programs = self.programs(trees);
        let mut scratch = PredictScratch::new(&self.program, programs);
        for (start, out) in rows.step_by(ROWS).zip(out.chunks_mut(ROWS * outputs)) {
            let whole_block = out.len() >= FEW_ROWS * outputs;
            if whole_block && self.functions.is_empty() {
                let task = RawScoreTask {
                    predictor: self,
                    block,
                    start,
                    programs,
                    scratch: &mut scratch,
                    out,
                };
                dispatch(self.instructions, task);
                continue;
            }
            for (row, out) in (start..).zip(out.chunks_mut(outputs)) {
                out.copy_from_slice(&self.base);
                let value = |feature| self.value(block, row, feature);
                add_trees(&self.members[..trees], value, out);
                add_linear(&self.functions, value, out);
            }
        }
        Ok(())
    }

    /// Writes the leaf indices of all rows, row by row, one per tree of the first `first_rounds`
    /// rounds or of all.
    pub fn leaves(
        &self,
        block: &Block<'_>,
        first_rounds: Option<usize>,
        out: &mut [u32],
    ) -> Result<(), BlockError> {
        self.leaves_range(block, 0..block.rows, first_rounds, out)
    }

    /// Writes the leaf indices of some rows of a block.
    pub(super) fn leaves_range(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        first_rounds: Option<usize>,
        out: &mut [u32],
    ) -> Result<(), BlockError> {
        let trees = self.trees(first_rounds);
        self.check(block, &rows, out.len(), trees)?;
        if trees == 0 {
            return Ok(());
        }

        let mut scratch = PredictScratch::new(&self.program, self.programs(trees));
        for (start, out) in rows.step_by(ROWS).zip(out.chunks_mut(ROWS * trees)) {
            let task =
                LeafIndexTask { predictor: self, block, start, trees, scratch: &mut scratch, out };
            dispatch(self.instructions, task);
        }
        Ok(())
    }

    fn check(
        &self,
        block: &Block<'_>,
        rows: &Range<usize>,
        found: usize,
        per_row: usize,
    ) -> Result<(), BlockError> {
        block.check(&self.schema)?;
        if rows.start > rows.end || rows.end > block.rows {
            return Err(BlockError::Range { range: rows.clone(), rows: block.rows });
        }
        let expected = rows.len().saturating_mul(per_row);
        if found == expected { Ok(()) } else { Err(BlockError::Output { found, expected }) }
    }

    fn value(&self, block: &Block<'_>, row: usize, feature: u32) -> FeatureValue {
        let feature = feature as usize;
        unknown_to_missing(self.levels[feature], block.columns[feature].get(row))
    }

    #[cfg(test)]
    pub(super) fn set_instructions(&mut self, instructions: Instructions) {
        self.instructions = instructions;
    }
}

/// Memory for the evaluation of one block at a time.
struct PredictScratch {
    columns: Vec<Codes>,
    slots: Vec<Codes>,
    translated: Codes,
    /// Leaf indices of a group of trees.
    leaves: [Codes; GROUP],
    /// Leaf indices of a tree of any size.
    large: [u32; ROWS],
    sums: [f64; ROWS],
    rest: TailBuffer,
}

impl PredictScratch {
    fn new(program: &ModelProgram, programs: usize) -> Self {
        let columns = programs.checked_sub(1).map_or(0, |last| program.trees[last].columns);
        PredictScratch {
            columns: vec![[0; ROWS]; columns],
            slots: vec![[0; ROWS]; program.slots],
            translated: [0; ROWS],
            leaves: [[0; ROWS]; GROUP],
            large: [0; ROWS],
            sums: [0.0; ROWS],
            rest: TailBuffer::new(),
        }
    }

    #[inline(always)]
    fn encode(
        &mut self,
        avx512: Option<Avx512>,
        program: &ModelProgram,
        block: &Block<'_>,
        start: usize,
    ) {
        let mut rows = BlockRows { block, start, rest: &mut self.rest };
        let mut before = None;
        for (column, codes) in program.columns.iter().zip(&mut self.columns) {
            column.encode(avx512, &mut rows, before, codes);
            before = Some(&*codes);
        }
    }

    /// Leaf indices of a tree with at most 256 leaves into `leaves[member]`.
    #[inline(always)]
    fn find_leaves(
        &mut self,
        avx512: Option<Avx512>,
        program: &ModelProgram,
        lookup: &LeafLookup,
        member: usize,
    ) {
        match lookup {
            LeafLookup::Levels { first, count } => {
                self.mark_levels(program, &program.tests[*first..first + count], member);
            }
            LeafLookup::Steps { first, end, slot } => {
                for step in &program.steps[*first..*end] {
                    self.step(avx512, program, step);
                }
                self.leaves[member] = self.slots[*slot];
            }
            LeafLookup::ManyLevels { .. } | LeafLookup::Descent { .. } => {
                self.leaves[member].fill(0)
            }
        }
    }

    /// Leaf indices of any tree into `large`; the group of trees must be empty, its slots are used
    /// as scratch memory.
    #[inline(always)]
    fn find_large_leaves(
        &mut self,
        avx512: Option<Avx512>,
        program: &ModelProgram,
        lookup: &LeafLookup,
    ) {
        match lookup {
            LeafLookup::Levels { .. } | LeafLookup::Steps { .. } => {
                self.find_leaves(avx512, program, lookup, 0);
                self.large
                    .iter_mut()
                    .zip(&self.leaves[0])
                    .for_each(|(leaf, low)| *leaf = u32::from(*low));
            }
            LeafLookup::ManyLevels { first, count } => {
                let (low, high) = program.tests[*first..first + count].split_at(8);
                self.mark_levels(program, low, 0);
                self.mark_levels(program, high, 1);
                let [low, high, ..] = &self.leaves;
                for ((leaf, low), high) in self.large.iter_mut().zip(low).zip(high) {
                    *leaf = u32::from(*low) | u32::from(*high) << 8;
                }
            }
            LeafLookup::Descent { first, leaves, end } => {
                self.descend(program, &program.descent_nodes[*first..*end], *leaves as u32);
            }
        }
    }

    /// Several rows descend one level at a time, so that the loads of one row do not wait for those
    /// of another.
    #[inline(always)]
    fn descend(&mut self, program: &ModelProgram, nodes: &[DescentNode], leaves: u32) {
        const LANES: usize = 16;
        for (chunk, large) in self.large.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut at = [0_u32; LANES];
            let mut inside = true;
            while inside {
                inside = false;
                for (lane, at) in at.iter_mut().enumerate() {
                    let node = &nodes[*at as usize];
                    let mut code = self.columns[node.test.column as usize][chunk * LANES + lane];
                    if let Some(table) = node.test.table {
                        code = program.tables[table as usize][code as usize];
                    }
                    *at = node.next[usize::from(code > node.test.cut)];
                    inside |= *at < leaves;
                }
            }
            *large = at.map(|node| node - leaves);
        }
    }

    #[inline(always)]
    fn mark_levels(&mut self, program: &ModelProgram, tests: &[CodeTest], member: usize) {
        if tests.iter().any(|test| test.table.is_some()) {
            return self.mark_translated(program, tests, member);
        }
        macro_rules! mark_all {
            ($($n:literal)*) => {
                match tests.len() {
                    $($n => {
                        let columns: [&Codes; $n] =
                            std::array::from_fn(|level| &self.columns[tests[level].column as usize]);
                        mark(columns, std::array::from_fn(|level| tests[level].cut), &mut self.leaves[member]);
                    })*
                    _ => self.leaves[member].fill(0),
                }
            };
        }
        mark_all!(1 2 3 4 5 6 7 8);
    }

    /// Like `mark_levels`, level by level, for trees with categorical splits.
    #[inline(always)]
    fn mark_translated(&mut self, program: &ModelProgram, tests: &[CodeTest], member: usize) {
        self.leaves[member].fill(0);
        for (level, test) in tests.iter().enumerate() {
            let codes = codes_of(program, test, &self.columns, &mut self.translated);
            for (leaf, code) in self.leaves[member].iter_mut().zip(codes) {
                *leaf |= if *code > test.cut { 1 << level } else { 0 };
            }
        }
    }

    #[inline(always)]
    fn step(&mut self, avx512: Option<Avx512>, program: &ModelProgram, step: &SelectStep) {
        let SelectStep { test, operands } = step;
        let codes = codes_of(program, test, &self.columns, &mut self.translated);
        let slots = &mut self.slots;
        if let Some(avx512) = avx512 {
            return choose_avx512(avx512, codes, test.cut, *operands, slots);
        }

        match *operands {
            SelectOperands::Leaves { left, right, slot } => {
                choose_leaves(codes, test.cut, left, right, &mut slots[slot as usize]);
            }
            SelectOperands::RightLeaf { slot, right } => {
                choose_right_leaf(codes, test.cut, right, &mut slots[slot as usize])
            }
            SelectOperands::LeftLeaf { left, slot } => {
                choose_left_leaf(codes, test.cut, left, &mut slots[slot as usize])
            }
            SelectOperands::Slots { left, right } => {
                if let Ok([left, right]) = slots.get_disjoint_mut([left as usize, right as usize]) {
                    choose(codes, test.cut, right, left);
                }
            }
        }
    }
}

/// A step with AVX-512 instructions.
#[inline(always)]
fn choose_avx512(
    avx512: Avx512,
    codes: &Codes,
    cut: u8,
    operands: SelectOperands,
    slots: &mut [Codes],
) {
    let (left, right, slot) = match operands {
        SelectOperands::Leaves { left, right, slot } => {
            (SelectSource::Leaf(left), SelectSource::Leaf(right), slot)
        }
        SelectOperands::RightLeaf { slot, right } => {
            (SelectSource::Same, SelectSource::Leaf(right), slot)
        }
        SelectOperands::LeftLeaf { left, slot } => {
            (SelectSource::Leaf(left), SelectSource::Same, slot)
        }
        SelectOperands::Slots { left, right } => {
            if let Ok([left, right]) = slots.get_disjoint_mut([left as usize, right as usize]) {
                avx512.choose(codes, cut, SelectSource::Same, SelectSource::Slot(right), left);
            }
            return;
        }
    };
    avx512.choose(codes, cut, left, right, &mut slots[slot as usize]);
}

/// The codes that a test compares with its cut.
#[inline(always)]
fn codes_of<'a>(
    program: &ModelProgram,
    test: &CodeTest,
    columns: &'a [Codes],
    translated: &'a mut Codes,
) -> &'a Codes {
    let codes = &columns[test.column as usize];
    match test.table {
        None => codes,
        Some(table) => {
            translate(codes, &program.tables[table as usize], translated);
            translated
        }
    }
}

/// The table of a tree's leaf values; see [`ModelProgram::values`].
#[inline(always)]
fn table<'a>(program: &'a ModelProgram, tree: Option<&TreeProgram>) -> &'a [f64; 256] {
    const NONE: &[f64; 256] = &[0.0; 256];
    tree.and_then(|tree| program.values[tree.values..].first_chunk()).unwrap_or(NONE)
}

/// Computes the raw scores of one block.
struct RawScoreTask<'a> {
    predictor: &'a Predictor,
    block: &'a Block<'a>,
    start: usize,
    programs: usize,
    scratch: &'a mut PredictScratch,
    out: &'a mut [f64],
}

impl KernelTask for RawScoreTask<'_> {
    #[inline(always)]
    fn run(self, avx512: Option<Avx512>) {
        let program = &self.predictor.program;
        let outputs = self.predictor.outputs();
        self.scratch.encode(avx512, program, self.block, self.start);
        for output in 0..outputs {
            self.scratch.sums = [self.predictor.base[output]; ROWS];
            // The trees of an output in order; the order between outputs is free.
            let mut group: [Option<&TreeProgram>; GROUP] = [None; GROUP];
            let mut filled = 0;
            for tree in (output..self.programs).step_by(outputs) {
                let compiled = &program.trees[tree];
                if matches!(compiled.lookup, LeafLookup::Levels { .. } | LeafLookup::Steps { .. }) {
                    self.scratch.find_leaves(avx512, program, &compiled.lookup, filled);
                    group[filled] = Some(compiled);
                    filled += 1;
                    if filled == GROUP {
                        self.scratch.add_group(avx512, program, &group);
                        filled = 0;
                    }
                } else {
                    self.scratch.add_group(avx512, program, &group[..filled]);
                    filled = 0;
                    self.scratch.find_large_leaves(avx512, program, &compiled.lookup);
                    let values = &program.values[compiled.values..];
                    for (sum, leaf) in self.scratch.sums.iter_mut().zip(&self.scratch.large) {
                        *sum += values[*leaf as usize];
                    }
                }
            }
            self.scratch.add_group(avx512, program, &group[..filled]);
            if outputs == 1 {
                self.out.copy_from_slice(&self.scratch.sums[..self.out.len()]);
                return;
            }
            for (out, sum) in self.out[output..].iter_mut().step_by(outputs).zip(&self.scratch.sums)
            {
                *out = *sum;
            }
        }
    }
}

impl PredictScratch {
    /// Adds the values of a group of trees.
    #[inline(always)]
    fn add_group(
        &mut self,
        avx512: Option<Avx512>,
        program: &ModelProgram,
        group: &[Option<&TreeProgram>],
    ) {
        if let Some(avx512) = avx512 {
            let mut trees: [(&Codes, &Planes); GROUP] = [(&self.leaves[0], NO_PLANES); GROUP];
            let mut with_planes = 0;
            for ((tree, leaves), compiled) in trees.iter_mut().zip(&self.leaves).zip(group) {
                if let Some(at) = compiled.and_then(|compiled| compiled.planes) {
                    *tree = (leaves, &program.planes[at]);
                    with_planes += 1;
                }
            }
            if with_planes == group.len() {
                return avx512.add_leaves(&trees[..with_planes], &mut self.sums);
            }
        }

        if let Ok(group) = <[_; GROUP]>::try_from(group) {
            return add_leaves(
                self.leaves.each_ref(),
                group.map(|tree| table(program, tree)),
                &mut self.sums,
            );
        }

        for (leaves, tree) in self.leaves.iter().zip(group) {
            add_leaves([leaves], [table(program, *tree)], &mut self.sums);
        }
    }
}

const NO_PLANES: &Planes = &[[0; 64]; 8];

/// Computes the leaf indices of one block.
struct LeafIndexTask<'a> {
    predictor: &'a Predictor,
    block: &'a Block<'a>,
    start: usize,
    trees: usize,
    scratch: &'a mut PredictScratch,
    out: &'a mut [u32],
}

impl KernelTask for LeafIndexTask<'_> {
    #[inline(always)]
    fn run(self, avx512: Option<Avx512>) {
        let program = &self.predictor.program;
        self.scratch.encode(avx512, program, self.block, self.start);
        for tree in 0..self.trees {
            let first = program.first_of_member[tree];
            self.scratch.find_large_leaves(avx512, program, &program.trees[first].lookup);
            for (out, leaf) in
                self.out[tree..].iter_mut().step_by(self.trees).zip(&self.scratch.large)
            {
                *out = *leaf;
            }
        }
    }
}
