import { type Principal, principalText } from '../../src/domain/access/principal.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import type { OwnerApp } from '../setup/owner-app.ts'
import type { Said } from './said.ts'
import type { Person } from './scenarios.ts'

interface HostContext {
  app: OwnerApp
  folder: string
  /** What the processes before this one said. */
  heard: Said[]
  speak(said: Said): void
  /** Makes a request again whose outcome the server did not tell. */
  insist<T>(work: () => Promise<T>): Promise<T>
}

/** What people do who let others in. Each request has a key, so that it may be made again by another process. */
export function hostOf({
  app,
  folder,
  heard,
  speak,
  insist,
}: HostContext): Pick<Person, 'admit' | 'askAs' | 'turnOut'> {
  const tokens = heard.flatMap((said) => ('token' in said ? [said] : []))
  const isRevoked = (id: number) => heard.some((said) => 'revoked' in said && said.revoked === id)
  const isGood = (token: string) =>
    insist(() => app.identify(token)).then(
      () => true,
      (error) => !(error instanceof HeddleError && error.code === 'unknown_token'),
    )
  const requestOnce = async (
    of: Principal,
    request: { key: string; isRepeatable: boolean },
    act: () => Promise<unknown>,
  ) => {
    const key = `${principalText(of)} ${request.key}`
    const answer = await insist(() => app.once(of, { ...request, hash: request.key }, act)).catch(codeOf)
    speak({ key, answer: typeof answer === 'string' ? null : answer })
    return answer
  }
  return {
    async admit(user) {
      for (const { token, id } of tokens.filter(({ id }) => isRevoked(id)))
        speak({ revoked: id, isGood: await isGood(token) })
      const add = () => app.addUser(user, { folder })
      const answer = await requestOnce(await app.identify(undefined), { key: `add ${user}`, isRepeatable: false }, add)
      // As the error says: look whether it had its effect, and ask again if not.
      if (answer === 'outcome_unknown' && !(await insist(() => app.users())).some(({ id }) => id === user))
        await insist(add).catch(codeOf)
      speak({ admitted: user })
      if (tokens.some(({ id }) => !isRevoked(id))) return
      const { id, token } = await insist(() => app.createToken(user))
      tokens.push({ id, token, user })
      speak({ token, id, user })
    },
    async askAs(user, content) {
      for (const { token } of tokens.filter((each) => each.user === user && !isRevoked(each.id))) {
        const of = await insist(() => app.identify(token)).catch(() => undefined)
        if (!of) continue
        const question = { session: 'main', content, dedupeKey: content }
        const ask = () => app.as(of).submit(folder, question)
        for (const _ of ['first', 'again']) {
          const answer = await requestOnce(of, { key: content, isRepeatable: true }, ask)
          speak({ accepted: (answer as { itemId: string }).itemId, content })
        }
      }
    },
    async turnOut(user) {
      for (const { token, id } of tokens.filter((each) => each.user === user && !isRevoked(each.id))) {
        await insist(() => app.revokeToken(id)).catch(codeOf)
        speak({ revoked: id, isGood: await isGood(token) })
      }
    },
  }
}

/** The code of a refusal that those who ask again must expect. */
function codeOf(error: unknown): string {
  const expected = ['outcome_unknown', 'user_exists', 'not_found']
  if (error instanceof HeddleError && expected.includes(error.code)) return error.code
  throw error
}
