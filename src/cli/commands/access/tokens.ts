import { type AccessScope, scopes } from '../../../domain/access/actions.ts'
import { UsageError } from '../../../domain/errors.ts'
import { type Register, rareGroup } from '../../command.ts'
import { commaNames } from '../../input/comma-names.ts'
import { table } from '../../terminal/screen.ts'

const units = new Map([
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
])

/** Tokens of users. */
export const registerTokens: Register = (program, run) => {
  const list = run(async (here) => {
    const tokens = await (await here.client()).tokens()
    const rows = tokens.map(({ id, kind, user, state, scopes, expiresAt }) => [
      String(id),
      user ?? 'owner',
      kind,
      state,
      scopes === null ? `all of ${user === null ? 'yours' : 'its role'}` : scopes.join(', '),
      expiresAt === null ? '' : `until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC`,
    ])
    const text = tokens.length > 0 ? table(here.screen, rows, 4) : 'no tokens yet    heddle tokens create --user mia'
    return { json: { tokens }, text }
  })
  const tokens = program
    .command('tokens')
    .helpGroup(rareGroup)
    .description('access tokens of users')
    .addHelpText(
      'after',
      '\nExamples: heddle tokens create --user mia --expires 30d\n          HEDDLE_TOKEN=hdl_… heddle ask "hello"',
    )
    .action(list)
  tokens.command('list').description('list tokens, without their secrets').action(list)
  tokens
    .command('create')
    .description('create a token; it is printed once, only its hash is stored')
    .option('--user <id>', 'whose token it is')
    .option('--owner', 'a token for yourself, with full rights: to reach this heddle from another machine')
    .option('--scope <names>', `limit it to these, separated by commas: ${scopes.join(', ')}`)
    .option('--expires <when>', 'when it ends: 12h, 30d, 8w, or a date such as 2027-01-31')
    .action(
      run(async (here, _, options) => {
        const [scope, expires] = [options['scope'], options['expires']]
        const made = await (await here.client()).createToken(userFrom(options), {
          ...(scope !== undefined && { scopes: scopesFrom(String(scope)) }),
          ...(expires !== undefined && { expiresAt: momentFrom(String(expires), here.clock.now()) }),
        })
        const text = `${made.token}\nshown only now: keep it safe    heddle tokens revoke ${made.id} ends it`
        return { json: { ok: true, ...made }, text }
      }),
    )
  tokens
    .command('revoke <id>')
    .description('revoke a token; its open streams close within a second')
    .action(
      run(async (here, [id = '']) => {
        if (!/^\d{1,15}$/.test(id))
          throw new UsageError(`"${id}" is not the number of a token`, 'heddle tokens lists them')
        await (await here.client()).revokeToken(Number(id))
        return { json: { ok: true, id: Number(id) }, text: `token ${id} is revoked` }
      }),
    )
}

/** Whose token to make; null for the owner. */
function userFrom({ user, owner }: Record<string, unknown>): string | null {
  if (owner === true && user === undefined) return null
  if (owner === undefined && user !== undefined) return String(user)
  throw new UsageError('whose token?', 'give --user ID, or --owner for yourself')
}

function scopesFrom(text: string): AccessScope[] {
  const names = commaNames(text)
  const unknown = names.find((name) => !(scopes as readonly string[]).includes(name))
  if (unknown === undefined && names.length > 0) return names as AccessScope[]
  throw new UsageError(`"${unknown ?? text}" is not a scope`, `use one or more of ${scopes.join(', ')}`, 'bad_scope')
}

/** A moment given as a time from now, or as a date. */
function momentFrom(text: string, now: number): number {
  const [, amount, name = ''] = /^(\d{1,5})([hdw])$/.exec(text) ?? []
  const unit = units.get(name)
  if (unit !== undefined) return now + Number(amount) * unit
  const moment = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(moment)) return moment
  throw new UsageError(`"${text}" is not a time`, 'write 12h, 30d, 8w, or a date such as 2027-01-31', 'bad_time')
}
