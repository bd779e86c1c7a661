//! Against servers made with the official Python MCP SDK: another hand's idea of the same protocol.

#![cfg(test)]

mod oauth;
mod peer;
mod sdk;
