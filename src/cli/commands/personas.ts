import { readFileSync } from 'node:fs'
import { UsageError } from '../../domain/errors.ts'
import type { Persona } from '../../domain/persona.ts'
import { toolLists } from '../../domain/tools/unknown-tools.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
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
    .option('--model <name>', 'its default model')
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
  const model = given('model')
  const tools = { ...before?.permissions.tools }
  for (const list of toolLists) {
    const names = given(list)
    if (names !== undefined) tools[list] = namesIn(names)
  }
  return {
    ...before,
    id,
    identity: {
      name,
      soul: soul === undefined ? (before?.identity.soul ?? '') : textOf(here, soul),
      ...(emoji !== undefined && { emoji }),
    },
    permissions: { ...before?.permissions, tools },
    ...(model !== undefined && { defaultModelConfig: { ...before?.defaultModelConfig, model } }),
  }
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}

function textOf({ pathOf }: CommandContext, file: string): string {
  const text = readText(pathOf(file), file)
  if (text.trim() === '') throw new UsageError(`${printable(file)} is empty`, 'describe the persona in it')
  return text
}

function readText(path: string, file: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as Error).message})`, 'give a text file')
  }
}
