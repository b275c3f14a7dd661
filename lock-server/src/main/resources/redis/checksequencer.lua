-- command: checksequencer
-- args: settings, floor, grant, token
-- answers: Checked
-- refuses: RECOVERING

command('checksequencer', FREES, nil, function(step, args)
  local held = find(step.lock.holders, GRANT, args[3])
  local offer = not held and offer_by(step, GRANT, args[3])
  local alive = held and held[TOKEN] or offer and offer[OFFER_TOKEN] -- Its client may use it before it accepts.
  if not alive and recovering(step) and not end_of_grant(step, args[3]) then
    return refuse_recovering(step) -- Its holder may come back yet.
  end
  return { 'Checked', alive == tonumber(args[4]) and 1 or 0 }
end)
