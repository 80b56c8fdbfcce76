import { ModelFailure } from '../../domain/model.ts'

/** What a failure that was asked for says. */
export const rehearsedFailure = 'the script failed because you asked it to'

export function failOnRequest(): never {
  throw new ModelFailure('rehearsed_failure', rehearsedFailure, 'ask for something else', { retry: 'never' })
}
