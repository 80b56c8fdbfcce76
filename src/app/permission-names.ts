import type { Config } from '../config/config.ts'
import { quoted } from '../config/redact.ts'
import { UsageError } from '../domain/errors.ts'
import type { Persona } from '../domain/persona.ts'
import { nearest } from '../domain/text/nearest.ts'
import { type UnknownTool, unknownToolHint, unknownTools } from '../domain/tools/unknown-tools.ts'
import { defaultAsk } from '../engine/run/policy.ts'

/** Names that permissions can use besides Heddle's own tools. */
export interface PermissionNames {
  tools: readonly string[]
  models: readonly string[]
}

/** Errors about names in stored permissions that stand for no tool. They are told, since an existing home must open. */
export function permissionErrors(
  { tools, personas = [] }: { tools: Config['tools']; personas?: readonly Persona[] },
  own: readonly string[] = [],
): string[] {
  return [
    ...unknownTools(tools, own).map((unknown) => {
      const until = unknown.list !== 'allow' && unknown.near ? ` Until then ${unknown.near} asks first.` : ''
      return `error: tools.${unknown.list} ${sentence(unknown)}${until}\n  → correct it: heddle config edit`
    }),
    ...personas.flatMap(({ id, permissions }) =>
      unknownTools(permissions.tools, own).map(
        (unknown) =>
          `error: ${unknown.list} of persona:${id} ${sentence(unknown)}\n  → correct it: heddle personas set ${id} --${unknown.list} …`,
      ),
    ),
  ]
}

/** Tools that ask first: the configured ones, and those that a misspelt name in `ask` or `deny` probably meant. */
export function askFirst(tools: Config['tools'], own: readonly string[]): string[] {
  const unknown = unknownTools(tools, own).filter(({ list }) => list !== 'allow')
  return [
    ...(tools.ask ?? []),
    ...(tools.ask === undefined || unknown.some(({ list }) => list === 'ask') ? defaultAsk(tools.exec) : []),
    ...unknown.flatMap(({ near }) => near ?? []),
  ]
}

/** Throws if a persona names a tool or a model that does not exist. */
export function assertPersonaNames({ permissions, defaultModelConfig }: Persona, known: PermissionNames): void {
  const [unknown] = unknownTools(permissions.tools, known.tools)
  if (unknown) {
    const message = `${unknown.list} names the tool ${quoted(unknown.name)}, which does not exist`
    throw new UsageError(message, unknownToolHint(unknown), 'tool_unknown')
  }
  const model = defaultModelConfig?.model
  if (model === undefined || known.models.includes(model)) return
  const close = nearest(model, known.models)
  const remedy = close ? `did you mean ${close}?` : 'heddle models lists them'
  throw new UsageError(`there is no model ${quoted(model)}`, remedy, 'model_unknown')
}

function sentence(unknown: UnknownTool): string {
  return `names the tool ${quoted(unknown.name)}, which does not exist: ${unknownToolHint(unknown)}`
}
