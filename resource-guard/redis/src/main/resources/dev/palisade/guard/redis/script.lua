-- The work of a call that is a script of the caller's, which stands before this as a function of KEYS and ARGV. Goes
-- before fence.lua.
local function check()
    return nil
end

-- Never raises. What the script wrote before it failed stays, and is not known here.
local function work()
    local ok, reply = pcall(caller, {unpack(KEYS, 2)}, {unpack(ARGV, 4)})
    if not ok then
        return {'failed', 1, type(reply) == 'table' and reply.err or tostring(reply)}
    end
    if type(reply) == 'table' and reply.err then
        return {'failed', 1, reply.err}
    end
    if reply == nil then
        reply = false
    end
    return {'done', {reply}}
end
