import { UsageError } from '../../domain/errors.ts'
import {
  type ModelConfig,
  modelSettings,
  type Permissions,
  type Persona,
  type SandboxPermissions,
  sandboxPermissions,
} from '../../domain/persona.ts'
import { toolLists } from '../../domain/tools/unknown-tools.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
import { commaNames } from '../input/comma-names.ts'
import { wholeNumber } from '../input/counts.ts'
import { readTextOption } from '../input/text-file.ts'
import { thinkingLevel } from '../input/thinking-level.ts'
import { printable, table } from '../terminal/screen.ts'

export const registerPersonas: Register = (program, run) => {
  const personas = program
    .command('personas')
    .helpGroup(rareGroup)
    .description('personas: an identity with its own permissions')
    .action(
      run(async (here) => {
        const found = await (await here.client()).personas()
        const rows = found.map(({ id, identity, permissions }) => [
          `persona:${id}`,
          printable(identity.name),
          permissions.tools.allow ? `only ${permissions.tools.allow.join(', ')}` : 'every tool',
          permissions.tools.deny?.length ? `not ${permissions.tools.deny.join(', ')}` : '',
        ])
        const text =
          rows.length > 0 ? table(here.screen, rows, 2) : 'no personas yet    heddle personas set atlas --name Atlas'
        return { json: { personas: found }, text }
      }),
    )
  personas
    .command('set <id>')
    .description('create or update a persona')
    .option('--name <name>', 'its display name; required for a new one')
    .option('--soul <file>', 'a file that describes it')
    .option('--emoji <emoji>', 'an emoji for it')
    .option('--allow <tools>', 'the only tools it may use, separated by commas')
    .option('--deny <tools>', 'tools it may never use, separated by commas')
    .option('--ask <tools>', 'tools it must ask about first, besides those of heddle.yaml, separated by commas')
    .option('--sandbox <limits>', 'limits on its commands, such as network=false,timeoutSeconds=60')
    .option('--credentials <names>', 'the only credentials its commands see, separated by commas')
    .option('--model <name>', 'its default model')
    .option('--think <level>', 'how much it thinks: off, low, medium or high, if the model supports it')
    .option('--max-tokens <n>', 'max tokens of a reply')
    .option('--temperature <t>', 'from 0 to 2, if the model supports it')
    .action(
      run(async (here, [id = ''], options) => {
        const client = await here.client()
        const before = (await client.personas()).find((each) => each.id === id)
        const persona = personaFrom(here, id, options, before)
        await client.setPersona(persona)
        return {
          json: { ok: true, ...persona },
          text: `persona:${id} is ${printable(persona.identity.name)}    heddle ask -s persona:${id} "…"`,
        }
      }),
    )
}

/** The persona with the given options; what is not named stays as it was. */
function personaFrom(
  here: CommandContext,
  id: string,
  options: Record<string, unknown>,
  before: Persona | undefined,
): Persona {
  const given = (option: string) => (options[option] === undefined ? undefined : String(options[option]))
  const name = given('name') ?? before?.identity.name
  if (name === undefined) throw new UsageError('a new persona needs a name', `add --name, as in --name Atlas`)
  const soul = given('soul')
  const emoji = given('emoji') ?? before?.identity.emoji
  const tools = { ...before?.permissions.tools }
  for (const list of toolLists) {
    const names = given(list)
    if (names !== undefined) tools[list] = commaNames(names)
  }
  return {
    id,
    identity: {
      name,
      soul: soul === undefined ? (before?.identity.soul ?? '') : readTextOption(here, soul),
      ...(emoji !== undefined && { emoji }),
    },
    permissions: { tools, ...commandLimits(given, before?.permissions) },
    ...modelConfigFrom(given, before?.defaultModelConfig),
  }
}

/** What its commands may do, with the given options; `default` takes a limit away. */
function commandLimits(
  given: (option: string) => string | undefined,
  before: Partial<Permissions> = {},
): Omit<Permissions, 'tools'> {
  const { sandbox, credentials } = { sandbox: given('sandbox'), credentials: given('credentials') }
  return {
    ...(sandbox === undefined
      ? before.sandbox && { sandbox: before.sandbox }
      : sandbox !== 'default' && { sandbox: sandboxFrom(sandbox) }),
    ...(credentials === undefined
      ? before.credentials && { credentials: before.credentials }
      : credentials !== 'default' && { credentials: commaNames(credentials) }),
  }
}

function sandboxFrom(text: string): SandboxPermissions {
  const pairs = commaNames(text).map((pair): [string, unknown] => {
    const [key = '', value = ''] = pair.split('=').map((part) => part.trim())
    return [key, value === 'false' || value === 'off' ? false : /^\d+$/.test(value) ? Number(value) : value]
  })
  const parsed = sandboxPermissions().safeParse(Object.fromEntries(pairs))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UsageError(
    `"${printable(text)}" is not a limit: ${issue?.path.join('.') || 'there'} ${printable(issue?.message ?? '')}`.trim(),
    'write for example --sandbox network=false,timeoutSeconds=60,memoryMB=512,processes=64',
  )
}

/** The model settings with the given options; `default` takes one away. */
function modelConfigFrom(
  given: (option: string) => string | undefined,
  before: ModelConfig = {},
): Pick<Persona, 'defaultModelConfig'> {
  const changed: ModelConfig = { ...before }
  const apply = <K extends keyof ModelConfig>(key: K, option: string, read: (text: string) => ModelConfig[K]) => {
    const text = given(option)
    if (text === 'default') delete changed[key]
    else if (text !== undefined) Object.assign(changed, { [key]: read(text) })
  }
  apply('model', 'model', (name) => name)
  apply('thinking', 'think', (level) => ({ level: thinkingLevel(level) }))
  apply('maxTokens', 'maxTokens', (text) => wholeNumber(text, { what: 'number of tokens', min: 1 }))
  apply('temperature', 'temperature', temperatureFrom)
  return Object.keys(changed).length === 0 ? {} : { defaultModelConfig: changed }
}

function temperatureFrom(text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !modelSettings().shape.temperature.safeParse(number).success)
    throw new UsageError(`"${printable(text)}" is not a temperature`, 'give a number from 0 to 2, or default')
  return number
}
