-- SPDX-License-Identifier: Apache-2.0
-- Argo CD health of a TrainingJob (kai.alibabacloud.com).

local function condition(obj, wanted)
  for _, c in ipairs(obj.status.conditions or {}) do
    if c.type == wanted and c.status == "True" then
      return c
    end
  end
end

local function message(obj, wanted, otherwise)
  local c = condition(obj, wanted)
  if c and c.message and c.message ~= "" then
    return c.message
  end
  return otherwise
end

local hs = {status = "Progressing", message = "The controller has not seen this job yet"}
if not obj.status or not obj.status.phase then
  return hs
end
-- What the status says is about an older spec until the controller has caught up. et-operator
-- writes no observedGeneration.
if obj.status.observedGeneration and obj.metadata.generation
    and obj.status.observedGeneration < obj.metadata.generation then
  hs.message = "The controller has not seen the last change yet"
  return hs
end

local phase = obj.status.phase
local current = #(obj.status.currentWorkers or {})
local target = #(obj.status.targetWorkers or {})
local workers = string.format("%d of %d workers", current, target)

if phase == "Succeeded" then
  hs.status = "Healthy"
  hs.message = message(obj, "Succeeded", "Finished")
elseif phase == "Failed" then
  hs.status = "Degraded"
  hs.message = message(obj, "Failed", "Failed")
elseif phase == "Suspended" then
  hs.status = "Suspended"
  hs.message = "Suspended"
elseif phase == "Running" then
  if condition(obj, "BelowMinimum") then
    hs.status = "Degraded"
    hs.message = message(obj, "BelowMinimum", "Fewer than minReplicas: " .. workers)
  else
    hs.status = "Healthy"
    hs.message = workers
  end
else
  hs.message = phase .. ": " .. workers
end
return hs
