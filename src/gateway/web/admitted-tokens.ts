import { hash } from 'node:crypto'
import type { Heddle } from '../../api/heddle.ts'
import type { Principal } from '../../domain/access/principal.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { RateLimits } from './rate-limits.ts'

/** Max tokens of each kind that are remembered. */
const maxTokens = 1000

/**
 * Finds out whose token a request has. Wrong ones are counted per address; above the limit an address gets on only with
 * tokens that were good before, so that an attacker who guesses locks no user out. A wrong token stays wrong: the browser of a
 * user who was signed out may ask again and again without being counted as an attacker. Every token, good or wrong, may be
 * sent at the rate of requests and no faster.
 */
export class AdmittedTokens {
  readonly #heddle: Pick<Heddle, 'identify'>
  readonly #failures: RateLimits
  readonly #requests: RateLimits
  readonly #good = new Set<string>()
  readonly #bad = new Set<string>()

  constructor(heddle: Pick<Heddle, 'identify'>, limits: { failures: RateLimits; requests: RateLimits }) {
    this.#heddle = heddle
    this.#failures = limits.failures
    this.#requests = limits.requests
  }

  /** Counts a request. Throws for a token that does not exist, and for one that is sent too often. */
  async identify(token: string, address: string): Promise<Principal> {
    const name = nameOfToken(token)
    if (!this.#good.has(name) && !this.#bad.has(name)) this.#failures.assertLeft(address)
    this.#requests.take(name)
    try {
      const principal = await this.#heddle.identify(token)
      addToken(this.#good, name)
      return principal
    } catch (error) {
      this.#good.delete(name)
      if (error instanceof HeddleError && error.code === 'unknown_token' && !this.#bad.has(name)) {
        addToken(this.#bad, name)
        this.#failures.take(address)
      }
      throw error
    }
  }

  /** Remembers a token that was just handed out. */
  add(token: string): void {
    addToken(this.#good, nameOfToken(token))
  }
}

/** A name for a token where the token itself must not be kept. */
function nameOfToken(token: string): string {
  return hash('sha256', token, 'base64')
}

function addToken(tokens: Set<string>, name: string): void {
  tokens.add(name)
  const [oldest] = tokens
  if (tokens.size > maxTokens && oldest !== undefined) tokens.delete(oldest)
}
