import type { UserChange, UserView } from '../../../api/access.ts'
import type { UserRole } from '../../../domain/access/principal.ts'
import { UsageError } from '../../../domain/errors.ts'
import { countNoun } from '../../../domain/text/count-noun.ts'
import { type CommandContext, type Register, rareGroup } from '../../command.ts'
import { commaNames } from '../../input/comma-names.ts'
import { printable, table } from '../../terminal/screen.ts'

/** Users besides the owner. */
export const registerUsers: Register = (program, run) => {
  const list = run(async (here) => {
    const users = await (await here.client()).users()
    const rows = users.map((user) => [user.id, ...userCells(user)])
    const text = users.length > 0 ? table(here.screen, rows, 4) : 'no users besides you    heddle users add mia'
    return { json: { users }, text }
  })
  const users = program
    .command('users')
    .helpGroup(rareGroup)
    .description('other people who may use this heddle, and their rights')
    .addHelpText(
      'after',
      '\nExamples: heddle users add mia --role operator\n          heddle tokens create --user mia\nheddle help tokens explains how a user gets in; docs/guide/access.md has the\ntable of rights.',
    )
    .action(list)
  users.command('list').description('the users').action(list)
  withSettings(users.command('add <id>').description('add a user, by default with the role public')).action(
    run(async (here, [id = ''], options) => {
      const user = await (await here.client()).addUser(id, { folder: here.folder, ...parseUserChange(here, options) })
      const text = `${id} is ${user.role}, in ${printable(user.folder)}    heddle tokens create --user ${id}`
      return { json: { ok: true, ...user }, text }
    }),
  )
  withSettings(users.command('set <id>').description('change the given settings of a user, effective at once')).action(
    run(async (here, [id = ''], options) => {
      const change = parseUserChange(here, options)
      if (Object.keys(change).length === 0)
        throw new UsageError('nothing to change', `heddle users set ${id} --role operator`, 'missing_option')
      const user = await (await here.client()).setUser(id, change)
      return { json: { ok: true, ...user }, text: `${id}: ${userCells(user).filter(Boolean).join(', ')}` }
    }),
  )
  users
    .command('rm <id>')
    .description('remove a user and revoke its tokens; sessions and runs stay')
    .action(
      run(async (here, [id = '']) => {
        const { tokens } = await (await here.client()).removeUser(id)
        const ended = `${countNoun(tokens, 'token')} ended`
        return { json: { ok: true, id, tokens }, text: `${id} is removed; ${ended}` }
      }),
    )
}

function withSettings<C extends ReturnType<Parameters<Register>[0]['command']>>(command: C): C {
  command
    .option('--role <role>', 'public (ask only), operator (also read files, steer own runs), admin (everything)')
    .option('--trusted', 'treat what this user writes as trusted, like your own words')
    .option('--no-trusted', 'treat what this user writes as untrusted data (default)')
    .option('--tools <names>', 'the only tools of its runs, separated by commas; none; or default, those of the role')
    .option('--folder <dir>', 'the only folder its runs work in (default: this one)')
    .option('--per-day-usd <amount>', 'max cost of its runs per day, or none')
  return command
}

function parseUserChange(here: CommandContext, options: Record<string, unknown>): UserChange {
  const given = (name: string) => (options[name] === undefined ? undefined : String(options[name]))
  const [role, tools, folder, perDay] = [given('role'), given('tools'), given('folder'), given('perDayUsd')]
  return {
    ...(role !== undefined && { role: role as UserRole }),
    ...(typeof options['trusted'] === 'boolean' && { trusted: options['trusted'] }),
    ...(tools !== undefined && { tools: toolsFrom(tools) }),
    ...(folder !== undefined && { folder: here.pathOf(folder) }),
    ...(perDay !== undefined && { perDayUsd: perDay === 'none' ? null : amountFrom(perDay) }),
  }
}

function toolsFrom(text: string): string[] | null {
  if (text === 'default') return null
  const names = commaNames(text)
  return names.length === 1 && names[0] === 'none' ? [] : names
}

function amountFrom(text: string): number {
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) return Number(text)
  throw new UsageError(`"${text}" is not an amount in dollars`, 'write 2.50, 0, or none', 'bad_budget')
}

function userCells({ role, trusted, tools, folder, perDayUsd }: UserView): string[] {
  return [
    role,
    trusted ? 'trusted' : '',
    tools === null ? '' : tools.length === 0 ? 'no tools' : `only ${tools.join(', ')}`,
    printable(folder),
    perDayUsd === null ? '' : `$${perDayUsd.toFixed(2)} a day`,
  ]
}
