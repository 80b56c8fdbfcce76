import { unquoted } from './find.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { reasonIn } from './tool-texts.ts'

const mostLines = 40

/** Runs the command that was given, and quotes what it wrote. */
export function runCommand(seen: Seen, heard: RegExpExecArray): Step {
  const command = unquoted((heard[1] ?? '').trim())
  const asked = askedAll(seen, [{ name: 'exec', input: { command } }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  const lines = text.trimEnd().split('\n')
  const end = /^\[(.+)\]$/.exec(lines.at(-1) ?? '')?.[1]
  if (end === undefined) return { text: `I did not run ${command}: ${reasonIn(text)}` }
  const said = lines.slice(0, -1)
  const left = said.length - mostLines
  return {
    text: [
      `$ ${command}: ${end}, ${said.length} ${said.length === 1 ? 'line' : 'lines'}.`,
      ...said.slice(0, mostLines),
      ...(left > 0 ? [`… and ${left} more lines`] : []),
    ].join('\n'),
  }
}
