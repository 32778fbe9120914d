// Model against engine: what has changed after every entry, and everything now and then.
//
// Every function gives the first difference as text, or nothing. Expected is the model's word.
#pragma once

#include <string>

#include "engine/engine.hpp"
#include "tests/sim/model.hpp"
#include "tests/sim/store.hpp"

namespace jobbie::sim {

/// The jobs that the latest entry touched.
std::string compare_touched(const Model& model, const engine::Engine& engine, const Store& store);

/// Settings, totals and counters of every queue against a recount (I16).
std::string compare_queues(const Model& model, const engine::Engine& engine);

/// Everything, through a dump. `drained`: the store is up to date, so ended jobs and finished
/// batches are compared as well.
std::string compare_everything(const Model& model, const engine::Engine& engine, const Store& store,
                               bool drained);

/// What must hold for any set of live jobs, whatever the model says (I15 and the shape of records).
std::string check_shape(const engine::Engine& engine);

}  // namespace jobbie::sim
