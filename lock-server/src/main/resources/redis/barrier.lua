-- command: barrier
-- args: settings, floor
-- answers: Raised
-- refuses: TOKENS_EXHAUSTED

command('barrier', GRANTS, nil, function(step)
  if not tokens_left(step) then
    return refuse_no_token()
  end
  return { 'Raised', next_token(step) }
end)
