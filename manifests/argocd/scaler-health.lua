-- SPDX-License-Identifier: Apache-2.0
-- Argo CD health of a ScaleOut or ScaleIn (kai.alibabacloud.com).

local hs = {status = "Progressing", message = "Waiting for its turn"}
local phase = obj.status and obj.status.phase
if not phase then
  return hs
end
for _, c in ipairs(obj.status.conditions or {}) do
  if c.type == phase and c.status == "True" and c.message and c.message ~= "" then
    hs.message = c.message
  end
end
if phase == "ScaleSucceeded" then
  hs.status = "Healthy"
elseif phase == "ScaleFailed" then
  hs.status = "Degraded"
end
return hs
