// Everything of FlowFabric: engine, client, worker, layers.
#pragma once

#include <ff/client.h>
#include <ff/codec.h>
#include <ff/engine.h>
#include <ff/exception.h>
#include <ff/layer.h>
#include <ff/task.h>
#include <ff/worker.h>
