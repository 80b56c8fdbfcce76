import { ModelFailure } from '../domain/model.ts'

/** Message of a failure that the user asked for. */
export const rehearsedFailure = 'the script failed because you asked it to'

export function failOnRequest(): never {
  throw new ModelFailure('rehearsed_failure', rehearsedFailure, 'ask for something else', { retry: 'never' })
}
