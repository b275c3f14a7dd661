-- command: abandon
-- args: settings, floor, grant, gen, detail
-- answers: Abandoned
-- refuses:

command('abandon', FREES, nil, function(step, args)
  local held = find(step.lock.holders, GRANT, args[3])
  if not held or held[GEN] > tonumber(args[4]) then
    return { 'Abandoned', 0 }
  end
  end_grant(step, held, 'ABANDONED', args[5]) -- A server of before gives no detail.
  return { 'Abandoned', 1 }
end)
