//! What both listeners share: the fleet, the tokens, the log, the armed faults.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::config::{Caller, Tokens};
use crate::faults::{Faults, ReadFault};
use crate::fleet::state::State;
use crate::log::CallLog;
use crate::oauth::SignIns;

/// How many requests to the model stand-in are kept for tests.
const KEPT_MODEL_REQUESTS: usize = 64;

/// The simulated world. Every lock is held for one short step and never across an await.
#[derive(Debug)]
pub(crate) struct World {
    /// The two accepted tokens.
    pub(crate) tokens: Tokens,
    state: Mutex<State>,
    log: Mutex<CallLog>,
    faults: Mutex<Faults>,
    read_faults: Mutex<HashMap<String, ReadFault>>,
    model_requests: Mutex<VecDeque<Value>>,
    sign_ins: Option<Mutex<SignIns>>,
    public_url: Option<String>,
}

impl World {
    /// A world at its start.
    pub(crate) fn new(tokens: Tokens, state: State, log: CallLog, faults: Faults) -> Self {
        Self {
            tokens,
            state: Mutex::new(state),
            log: Mutex::new(log),
            faults: Mutex::new(faults),
            read_faults: Mutex::default(),
            model_requests: Mutex::default(),
            sign_ins: None,
            public_url: None,
        }
    }

    /// The same with an authorization server whose tokens are good for so many seconds, and which is reached at this address
    /// when it is not its own.
    pub(crate) fn with_sign_ins(mut self, life: u32, public_url: Option<String>) -> Self {
        self.public_url = public_url.map(|url| url.trim_end_matches('/').to_owned());
        self.sign_ins = Some(Mutex::new(SignIns::new(life)));
        self
    }

    /// Who signed in, when people can.
    pub(crate) fn sign_ins(&self) -> Option<&Mutex<SignIns>> {
        self.sign_ins.as_ref()
    }

    /// Where a front before this server is reached.
    pub(crate) fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    /// Whose token stands in this `Authorization` header: one of the two files', or one that was given out.
    pub(crate) fn caller(&self, header: Option<&str>, now_ms: i64) -> Caller {
        match (self.tokens.caller(header), &self.sign_ins) {
            (Caller::Unknown, Some(sign_ins)) => lock(sign_ins).caller(header, now_ms),
            (known, _) => known,
        }
    }

    /// The fleet.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The call log.
    pub(crate) fn log(&self) -> MutexGuard<'_, CallLog> {
        lock(&self.log)
    }

    /// The armed write fault.
    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    /// The armed read faults by tool.
    pub(crate) fn read_faults(&self) -> MutexGuard<'_, HashMap<String, ReadFault>> {
        lock(&self.read_faults)
    }

    /// The last requests to the model stand-in, oldest first.
    pub(crate) fn model_requests(&self) -> Vec<Value> {
        lock(&self.model_requests).iter().cloned().collect()
    }

    /// Keeps one request to the model stand-in.
    pub(crate) fn keep_model_request(&self, request: Value) {
        let mut kept = lock(&self.model_requests);
        if kept.len() == KEPT_MODEL_REQUESTS {
            kept.pop_front();
        }
        kept.push_back(request);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
