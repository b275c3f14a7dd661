-- Rights of the user that calls a function. A missing one is found before anything is written.

-- The commands of needed, each with arguments as a function will call it, that this user may not call.
local function missing_rights(needed)
  local missing = {}
  for _, call in ipairs(needed) do
    if not redis.acl_check_cmd(unpack(call)) then
      missing[#missing + 1] = '+' .. string.lower(call[1])
    end
  end
  return missing
end
