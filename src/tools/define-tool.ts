import { z } from 'zod'
import { lazy } from '../domain/lazy.ts'
import type { Tool } from '../domain/tools/tool.ts'

/** A tool without its input schema. */
type ToolBody<T> =
  Tool<T> extends infer Kind ? (Kind extends unknown ? Omit<Kind, 'inputSchema' | 'parse'> : never) : never

/**
 * Defines a tool with one schema that both describes the input to the model and validates it. The model sees types,
 * limits, defaults and descriptions; refinements in code only show when they refuse.
 */
export function defineTool<T>(schema: z.ZodType<T> | (() => z.ZodType<T>), body: ToolBody<T>): Tool<T> {
  // Made on first use: most commands call no model, and to make all schemas takes longer than all that they do.
  const made = lazy(() => (typeof schema === 'function' ? schema() : schema))
  let json: Record<string, unknown> | undefined
  return {
    ...body,
    get inputSchema() {
      json ??= jsonSchemaOf(made())
      return json
    },
    parse: parserFor(made),
  } as Tool<T>
}

/** The same tool under another name. Its schema is still computed on first use, where a copy by spreading would compute it at once. */
export function withAlias(tool: Tool, name: string, description: string): Tool {
  const copy: Tool = Object.defineProperties({} as Tool, Object.getOwnPropertyDescriptors(tool))
  return Object.assign(copy, { name, description })
}

/** Reports errors by parameter. */
function parserFor<T>(schema: () => z.ZodType<T>): Tool<T>['parse'] {
  return (input) => {
    const { success, data, error } = schema().safeParse(input)
    if (success) return { ok: true, value: data }
    return { ok: false, why: error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ') }
  }
}

function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => simplifyInteger(jsonSchema),
  })
  return rest
}

/** Not every provider knows `exclusiveMinimum`, and the bounds of safe integers tell a model nothing. */
function simplifyInteger(json: z.core.JSONSchema.BaseSchema): void {
  if (json.type !== 'integer') return
  if (typeof json.exclusiveMinimum === 'number') json.minimum = json.exclusiveMinimum + 1
  delete json.exclusiveMinimum
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
}
