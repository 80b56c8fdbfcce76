import type { z } from 'zod'
import type { Config } from '../config/config.ts'
import { quoteValue } from '../config/redact.ts'
import { UsageError } from '../domain/errors.ts'
import { modelSettings, type Permissions, type Persona, permissions as permissionsSchema } from '../domain/persona.ts'
import { nearest } from '../domain/text/nearest.ts'
import { type UnknownTool, unknownToolHint, unknownTools } from '../domain/tools/unknown-tools.ts'
import { defaultAsk } from '../engine/run/policy.ts'

/** Names that permissions can use besides Heddle's own tools. */
export interface PermissionNames {
  tools: readonly string[]
  models: readonly string[]
  /** Those of `tools.exec.credentials`. */
  credentials: readonly string[]
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

/** Throws if a persona has permissions that would do nothing, or a model that does not exist. */
export function assertPersona({ permissions, defaultModelConfig = {} }: Persona, known: PermissionNames): void {
  assertPermissions(permissions, known)
  const { model, ...settings } = defaultModelConfig
  const checked = modelSettings().safeParse(settings)
  if (!checked.success) throw badField('defaultModelConfig', checked.error)
  if (model !== undefined) assertModelKnown(model, known)
}

export function assertModelKnown(model: string, known: Pick<PermissionNames, 'models'>): void {
  if (known.models.includes(model)) return
  const close = nearest(model, known.models)
  const remedy = close ? `did you mean ${close}?` : 'heddle models lists them'
  throw new UsageError(`there is no model ${quoteValue(model)}`, remedy, 'model_unknown')
}

/** Throws if permissions name a tool or credential that does not exist, or a limit that is none. */
export function assertPermissions(given: Permissions, known: PermissionNames): void {
  const checked = permissionsSchema().safeParse(given)
  if (!checked.success) throw badField('permissions', checked.error)
  const permissions = checked.data
  const [unknown] = unknownTools(permissions.tools, known.tools)
  if (unknown) {
    const message = `${unknown.list} names the tool ${quoteValue(unknown.name)}, which does not exist`
    throw new UsageError(message, unknownToolHint(unknown), 'tool_unknown')
  }
  const missing = permissions.credentials?.find((name) => !known.credentials.includes(name))
  if (missing === undefined) return
  const listed = known.credentials.length > 0 ? known.credentials.join(', ') : 'none'
  throw new UsageError(
    `unknown credential ${quoteValue(missing)}: tools.exec.credentials in heddle.yaml lists ${listed}`,
    'add it there first: heddle config edit',
    'credential_unknown',
  )
}

/** The first thing that is wrong, with the field's name. */
function badField(of: string, { issues: [first] }: z.ZodError): UsageError {
  const field = [of, ...(first?.path ?? [])].join('.')
  const names = first?.code === 'unrecognized_keys' ? ` (${first.keys.map((key) => quoteValue(key)).join(', ')})` : ''
  return new UsageError(`${field}${names}: ${first?.message ?? 'not valid'}`, 'correct it', 'bad_persona')
}

function sentence(unknown: UnknownTool): string {
  return `names the tool ${quoteValue(unknown.name)}, which does not exist: ${unknownToolHint(unknown)}`
}
