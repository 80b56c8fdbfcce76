import { countNoun } from '../domain/text/count-noun.ts'
import { stripQuotes } from './find.ts'
import { answersOrCalls, type ScriptStep, type ScriptView } from './script-view.ts'
import { reasonIn } from './tool-texts.ts'

const maxLines = 40

/** Runs the given command and quotes its output. */
export function runCommand(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const command = stripQuotes((match[1] ?? '').trim())
  const step = answersOrCalls(view, [{ name: 'exec', input: { command } }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  const lines = text.trimEnd().split('\n')
  const end = /^\[(.+)\]$/.exec(lines.at(-1) ?? '')?.[1]
  if (end === undefined) return { text: `I did not run ${command}: ${reasonIn(text)}` }
  const output = lines.slice(0, -1)
  const remaining = output.length - maxLines
  return {
    text: [
      `$ ${command}: ${end}, ${countNoun(output.length, 'line')}.`,
      ...output.slice(0, maxLines),
      ...(remaining > 0 ? [`… and ${remaining} more lines`] : []),
    ].join('\n'),
  }
}
