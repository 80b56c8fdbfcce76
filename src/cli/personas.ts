import { readFileSync } from 'node:fs'
import { Misuse } from '../domain/errors.ts'
import type { Persona } from '../domain/persona.ts'
import { type Here, type Register, rareGroup } from './cli.ts'
import { printable, table } from './screen.ts'

export const registerPersonas: Register = (program, run) => {
  const personas = program
    .command('personas')
    .helpGroup(rareGroup)
    .description('identities with their permissions, for sessions to take')
    .action(
      run(async (here) => {
        const found = await (await here.app()).personas()
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
    .description('make a persona, or replace it')
    .requiredOption('--name <name>', 'how it is called')
    .option('--soul <file>', 'a text that says who it is')
    .option('--emoji <emoji>', 'a sign for it')
    .option('--allow <tools>', 'the only tools it may use, separated by commas')
    .option('--deny <tools>', 'tools it may never use, separated by commas')
    .option('--ask <tools>', 'tools it must ask about first, besides those of heddle.yaml, separated by commas')
    .option('--model <name>', 'the model it thinks with unless told otherwise')
    .action(
      run(async (here, [id = ''], options) => {
        const persona = personaFrom(here, id, options)
        await (await here.app()).setPersona(persona)
        return {
          json: { ok: true, ...persona },
          text: `persona:${id} is ${printable(persona.identity.name)}    heddle ask -s persona:${id} "…"`,
        }
      }),
    )
}

function personaFrom(here: Here, id: string, options: Record<string, unknown>): Persona {
  const words = (name: string) =>
    options[name] === undefined
      ? undefined
      : String(options[name])
          .split(',')
          .map((word) => word.trim())
          .filter(Boolean)
  const [allow, deny, ask] = [words('allow'), words('deny'), words('ask')]
  return {
    id,
    identity: {
      name: String(options['name']),
      soul: options['soul'] === undefined ? '' : textOf(here, String(options['soul'])),
      ...(options['emoji'] !== undefined && { emoji: String(options['emoji']) }),
    },
    permissions: { tools: { ...(allow && { allow }), ...(deny && { deny }), ...(ask && { ask }) } },
    ...(options['model'] !== undefined && { defaultModelConfig: { model: String(options['model']) } }),
  }
}

function textOf({ pathOf }: Here, file: string): string {
  try {
    return readFileSync(pathOf(file), 'utf8')
  } catch (error) {
    throw new Misuse(`${file} cannot be read (${(error as Error).message})`, 'name a text file')
  }
}
