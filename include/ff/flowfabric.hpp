// Everything of FlowFabric: engine, client, worker, layers.
#pragma once

#include <ff/callback.h>
#include <ff/client.h>
#include <ff/codec.h>
#include <ff/engine.h>
#include <ff/exception.h>
#include <ff/flow_builder.h>
#include <ff/follow.h>
#include <ff/frame_writer.h>
#include <ff/inputs.h>
#include <ff/layer.h>
#include <ff/task.h>
#include <ff/worker.h>
