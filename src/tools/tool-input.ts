import type { z } from 'zod'

/** How a tool reads its input: what does not fit is told by parameter. */
export function parsedBy<T>(schema: z.ZodType<T>) {
  return (input: unknown): { ok: true; value: T } | { ok: false; why: string } => {
    const { success, data, error } = schema.safeParse(input)
    if (success) return { ok: true, value: data }
    return { ok: false, why: error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ') }
  }
}
