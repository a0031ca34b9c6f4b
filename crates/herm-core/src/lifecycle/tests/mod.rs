//! The machine against simulated servers, on a simulated clock.

mod incidents;
mod rules;
mod sim;
mod storm;
mod walks;
