import type { Heddle } from '../api/heddle.ts'
import { principalText } from '../domain/access/principal.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { isStorable } from '../domain/text/storable.ts'
import type { Runtime } from '../engine/runtime.ts'
import {
  deleteRequest,
  type EarlierRequest,
  findRequest,
  insertRequest,
  type KeyedRequest,
  setAnswer,
} from '../store/rows/access/idempotency.ts'

const maxKeyLength = 200

/** Carries requests with a key out once: sent again, they get the first answer. Keys belong to their principal. */
export function answerOnce(runtime: Pick<Runtime, 'store' | 'clock'>): Heddle['once'] {
  const underWay = new Map<string, { hash: string; answer: Promise<unknown> }>()
  return async (principal, { key, hash, isRepeatable }, act) => {
    if (key === '' || key.length > maxKeyLength || !isStorable(key))
      throw new UsageError(
        'the idempotency key is empty, too long or not well-formed',
        'use 1 to 200 characters',
        'bad_key',
      )
    const request = { principal: principalText(principal), key, hash }
    const id = JSON.stringify([request.principal, key])
    const same = underWay.get(id)
    if (same && same.hash !== hash) throw keyReused(key)
    if (same) return same.answer
    const answer = isRepeatable ? repeatable(runtime, request, act) : begunOnce(runtime, request, act)
    underWay.set(id, { hash, answer })
    return answer.finally(() => underWay.delete(id))
  }
}

type Act = () => Promise<unknown>

/** Of a request that has its effect once however often it is made, only the answer must be kept. */
async function repeatable({ store, clock }: Pick<Runtime, 'store' | 'clock'>, request: KeyedRequest, act: Act) {
  const earlier = await store.read((rows) => findRequest(rows, request))
  if (earlier) return answerOf(earlier, request)
  const answer = await act()
  // Another process may have answered meanwhile: its answer was the first.
  const first = await store.write('submit', async (tx) =>
    (await insertRequest(tx, request, JSON.stringify(answer), clock.now())) ? undefined : findRequest(tx, request),
  )
  return first ? answerOf(first, request) : answer
}

/** Notes the request before it begins: after a crash it is not known whether it had its effect, and it is not repeated. */
async function begunOnce({ store, clock }: Pick<Runtime, 'store' | 'clock'>, request: KeyedRequest, act: Act) {
  const earlier = await store.write('submit', async (tx) =>
    (await insertRequest(tx, request, null, clock.now())) ? undefined : findRequest(tx, request),
  )
  if (earlier) return answerOf(earlier, request)
  try {
    const answer = await act()
    await store.write('submit', (tx) => setAnswer(tx, request, JSON.stringify(answer)))
    return answer
  } catch (error) {
    if (error instanceof HeddleError) await store.write('submit', (tx) => deleteRequest(tx, request))
    throw error
  }
}

function answerOf({ hash, answerJson }: EarlierRequest, request: KeyedRequest): unknown {
  if (hash !== request.hash) throw keyReused(request.key)
  if (answerJson !== null) return JSON.parse(answerJson)
  throw new HeddleError(
    'outcome_unknown',
    `a request with the key "${request.key}" was started, and its outcome is unknown`,
    'check whether it took effect; if not, send it with another key',
  )
}

function keyReused(key: string): HeddleError {
  return new HeddleError(
    'key_reused',
    `another request was sent with the key "${key}"`,
    'use a new key for each request; a repeated request must be identical',
  )
}
