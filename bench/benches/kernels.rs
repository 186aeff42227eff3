//! Benchmarks of the kernels. The speed of each kernel is compared with memcpy, with XOR, and with
//! multiplication instructions that use only registers.

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use ripstop_gf256::{Kernel, bench};
use std::time::Duration;

fn case(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut run: impl FnMut() -> u64) {
    group.throughput(Throughput::Bytes(run()));
    group.bench_function(name, |b| b.iter(&mut run));
}

fn kernels(c: &mut Criterion) {
    for kernel in Kernel::all() {
        let mut group = c.benchmark_group(kernel.name());
        case(&mut group, "memcpy 1408", bench::memcpy(1408));
        case(&mut group, "xor 1408", bench::xor(kernel, 1408));
        case(&mut group, "sum of 6, 1408", bench::sum(kernel, 6, 1408));
        case(&mut group, "register limit", bench::register_limit(kernel));
        case(&mut group, "mul_add 1408", bench::mul_add(kernel, 1408));
        case(&mut group, "mul_add 1500", bench::mul_add(kernel, 1500));
        for outputs in [1, 4, 5, 8] {
            let name = format!("fused K 50 x M {outputs}, 1408");
            case(&mut group, &name, bench::fused(kernel, 50, outputs, 1408));
        }
        group.finish();
    }
}

/// The measurements are short, because there are many cases and each case is small.
fn config() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = config();
    targets = kernels
}
criterion_main!(benches);
