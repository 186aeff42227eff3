//! The schemes whose closed forms have no weights of their own: TCP/NC, a block code, and TCP/LT. TCP/NC and TCP/LT are
//! not available on real networks. `mod.rs` explains the terms of this folder.

use super::scenes::CampaignStage;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::block::{self, BlockCode, BlockUnpredictable};
use ripstop_model::plan::lt::{self, LtPrediction, LtSettings, LtUnpredictable};
use ripstop_model::plan::nc::{self, NcSettings, NcUnpredictable};
use ripstop_model::plan::{NetworkPath, Weights};
use ripstop_sim::scenario::Scenario;

/// A scheme without weights of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfitted {
    /// TCP/NC: a coding layer below TCP (paper 000).
    TcpNc,
    /// CUBIC in a tunnel with a block code (paper 003).
    Block,
    /// TCP/LT: a gateway that carries TCP in blocks (paper 004).
    Lt,
}

/// A scheme with the settings for a path, and the predicted result.
#[derive(Clone, Copy, Debug)]
pub enum UnfittedPlan {
    /// TCP/NC, and the goodput in bit/s.
    TcpNc(NcSettings, Result<f64, NcUnpredictable>),
    /// A block code, and the goodput in bit/s.
    Block(BlockCode, Result<f64, BlockUnpredictable>),
    /// TCP/LT, and its prediction.
    Lt(LtSettings, Result<LtPrediction, LtUnpredictable>),
}

impl Unfitted {
    /// All schemes without weights, in the order of the report.
    pub const ALL: [Unfitted; 3] = [Unfitted::TcpNc, Unfitted::Block, Unfitted::Lt];

    /// The scheme's name in `--json` output and in the data files.
    pub fn name(self) -> &'static str {
        match self {
            Unfitted::TcpNc => "tcpnc",
            Unfitted::Block => "block",
            Unfitted::Lt => "lt",
        }
    }

    /// Chooses the settings of the scheme for `path`, and predicts the result. `weights` are those of the tunnel, which
    /// carries the block code.
    ///
    /// # Errors
    /// A quantity of the path is outside the domain of the closed forms.
    pub fn plan(self, path: &NetworkPath, weights: &Weights) -> LabResult<UnfittedPlan> {
        Ok(match self {
            Unfitted::TcpNc => {
                let settings = nc::settings(path);
                UnfittedPlan::TcpNc(settings, nc::goodput(path, settings))
            }
            Unfitted::Block => {
                let code = block::best(path, weights).map_err(|error| LabError::work("a link", error))?;
                UnfittedPlan::Block(code, block::goodput(path, &code))
            }
            Unfitted::Lt => {
                let settings = lt::settings(path);
                UnfittedPlan::Lt(settings, lt::predict(path, settings))
            }
        })
    }
}

impl UnfittedPlan {
    /// The predicted goodput, bit/s. None where the closed form is known to fail.
    pub fn goodput_bps(&self) -> Option<f64> {
        match self {
            UnfittedPlan::TcpNc(_, goodput) => goodput.ok(),
            UnfittedPlan::Block(_, goodput) => goodput.ok(),
            UnfittedPlan::Lt(_, prediction) => prediction.ok().map(|prediction| prediction.goodput_bps),
        }
    }

    /// The scenario of the scheme on `stage`, with `runs` runs. `seed` is the master seed of all runs.
    pub fn scenario(&self, stage: &CampaignStage, runs: u32, seed: u64) -> Scenario {
        match self {
            UnfittedPlan::TcpNc(settings, _) => stage.nc_scenario(*settings, runs, seed),
            UnfittedPlan::Block(code, _) => stage.block_scenario(code, runs, seed),
            UnfittedPlan::Lt(settings, _) => stage.lt_scenario(*settings, runs, seed),
        }
    }
}
