import { z } from 'zod'
import { type CheckReader, checkOf, joinWords } from './check.ts'
import { countField, nonEmptyText } from './check-fields.ts'

const lastOutputLength = 120

/** Checks of how the agent worked, and whether its result works. */
export const workChecks: Record<string, CheckReader> = {
  command: checkOf(
    z.strictObject({ command: nonEmptyText, exit: countField.default(0), contains: nonEmptyText.optional() }),
    ({ command, exit, contains }) =>
      `\`${command}\` exits with ${exit}${contains === undefined ? '' : ` and says "${joinLines(contains)}"`}`,
    async ({ command, exit, contains = '' }, { run }) => {
      const end = await run(command)
      if ('obstacle' in end) return { ok: false, saw: `no command can be run here: ${end.obstacle}` }
      const lastOutput = joinLines(end.output.slice(-lastOutputLength))
      const ok = end.code === exit && end.output.includes(contains)
      return { ok, saw: `${end.code ?? 'a signal'}${ok || lastOutput === '' ? '' : `, and at the end: ${lastOutput}`}` }
    },
  ),
  tools_within: checkOf(
    z.strictObject({ tools: z.array(nonEmptyText).optional() }),
    ({ tools }) => `no tool was called but ${tools ? joinWords(tools, 9) : 'those of its file'}`,
    ({ tools }, { calls, tools: own }) => {
      const allowed = tools ?? own
      const names = [...new Set(calls.map(({ name }) => name))]
      const others = names.filter((name) => !allowed.includes(name))
      return others.length > 0 ? { ok: false, saw: joinWords(others) } : { ok: true, saw: joinWords(names) || 'none' }
    },
  ),
  tool_used: checkOf(
    z.strictObject({ tool: nonEmptyText, atLeast: countField.default(1) }),
    ({ tool, atLeast }) => `${tool} was called${atLeast === 1 ? '' : ` ${atLeast} times or more`}`,
    ({ tool, atLeast }, { calls }) => {
      const done = calls.filter(({ name, status }) => name === tool && status === 'ok').length
      return { ok: done >= atLeast, saw: `${done} calls that worked` }
    },
  ),
  model_calls: checkOf(
    z.strictObject({ atMost: countField.min(1) }),
    ({ atMost }) => `the model was asked at most ${atMost} times`,
    ({ atMost }, { modelCalls }) => ({ ok: modelCalls <= atMost, saw: `${modelCalls} times` }),
  ),
}

function joinLines(text: string): string {
  return text
    .trim()
    .split(/\s*\n\s*/)
    .join(' / ')
}
