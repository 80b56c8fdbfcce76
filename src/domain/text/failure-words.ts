const reasons = new Map([
  ['provider_busy', 'the provider is busy'],
  ['provider_failed', 'the provider failed'],
  ['provider_timeout', 'the provider did not answer in time'],
  ['provider_unreachable', 'the provider cannot be reached'],
  ['provider_refused_key', 'the provider does not accept the key'],
  ['provider_rejected', 'the provider rejects the request'],
  ['model_unknown', 'the provider does not know the model'],
  ['reply_malformed', 'the provider sent an invalid reply'],
  ['reply_too_large', 'the reply was too large'],
  ['context_cut', 'the provider truncated the request'],
  ['stream_cut', 'the connection was lost'],
  ['budget_in_use', 'the budget is in use by other runs'],
])

/** Why a run waits or falls back to another model, in words for users; events and JSON keep the code. */
export function retryReason(code: string): string {
  return reasons.get(code) ?? code.replaceAll('_', ' ')
}
