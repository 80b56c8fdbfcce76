import { answersOrCalls, type ScriptStep, type ScriptView } from './script-view.ts'
import { formatCount } from './survey/format-count.ts'
import { reasonIn, totalLines } from './tool-texts.ts'

const maxFiles = 5

/** Shows that an agent is wired up when the script cannot do its work: its tools and the files in its brief. */
export function showWiring(view: ScriptView, name: string): ScriptStep {
  const paths = view.tools.has('read_file') ? pathsIn(`${view.task}\n${view.brief}`) : []
  const step = answersOrCalls(
    view,
    paths.map((path) => ({ name: 'read_file', input: { path, limit: 1 } })),
  )
  if ('calls' in step) return step
  const tools = [...view.tools].join(', ')
  return {
    text: [
      `I am a script and cannot do this work of @${name}; a real model can: heddle models add.`,
      '',
      `@${name} was started with ${tools === '' ? 'no tools' : `the tools ${tools}`}.`,
      ...(view.brief === '' ? [] : [`Its brief has ${formatCount(view.brief.split('\n').length, 'line')}.`]),
      ...(view.before.length === 0
        ? []
        : [`It was given ${formatCount(view.before.length, 'result')} of tasks before.`]),
      ...paths.map((path, at) => `${path}: ${describeRead(step.answers[at] ?? '')}`),
    ].join('\n'),
  }
}

function describeRead(text: string): string {
  const lines = totalLines(text)
  if (lines === undefined) return `not read: ${reasonIn(text)}`
  return text.startsWith('[') && lines === 0 ? text.slice(1, -1) : formatCount(lines, 'line')
}

/** Words that look like file paths. */
function pathsIn(text: string): string[] {
  const found = text.matchAll(/(?<![\w/.:@-])(?:[\w.-]+\/)*[\w-][\w.-]*\.[a-z]\w{0,4}(?![\w/])/g)
  return [...new Set([...found].map(([path]) => path))].slice(0, maxFiles)
}
