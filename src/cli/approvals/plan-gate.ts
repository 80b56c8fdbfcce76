/** Decision of the user about a plan that waits to be started. */
export type GateDecision =
  | { kind: 'run' }
  | { kind: 'no'; reason?: string }
  | { kind: 'briefs'; task?: number }
  | { kind: 'brief'; task: number }
  | { kind: 'drop'; task: number }
  | { kind: 'give'; task: number; agent: string }
  /** Not decided yet; `text` asks for what is missing. */
  | { kind: 'ask'; text: string }

/** Progress of editing a task: not begun, choosing the task, choosing the change. */
export type GateState = { at: 'gate' } | { at: 'which' } | { at: 'how'; task: number }

export const firstGateState: GateState = { at: 'gate' }

interface GateStep {
  state: GateState
  decision: GateDecision
}

/** Parses a line typed at the gate of a plan with these tasks; undefined for a chat command. */
export function stepThroughGate(state: GateState, typed: string, tasks: readonly number[]): GateStep | undefined {
  const line = typed.trim()
  if (/^[/!]/.test(line)) return undefined
  if (state.at === 'which') return chooseTask(line, tasks)
  if (state.at === 'how') return chooseChange(state.task, line)
  return parseDecisionLine(line, tasks)
}

function parseDecisionLine(line: string, tasks: readonly number[]): GateStep {
  const [word = '', ...rest] = line.split(/\s+/)
  const key = word.toLowerCase()
  const words = rest.join(' ')
  if (rest.length === 0 && ['', 'y', 'yes', 'run'].includes(key)) return done({ kind: 'run' })
  if (key === 'n' || key === 'no') return done(words === '' ? { kind: 'no' } : { kind: 'no', reason: words })
  if (['v', 'briefs', 'brief'].includes(key) && rest.length < 2) {
    const task = numberIn(words)
    if (words === '') return done({ kind: 'briefs' })
    if (task !== undefined)
      return tasks.includes(task) ? done({ kind: 'briefs', task }) : noTask(words, tasks, firstGateState)
  }
  if ((key === 'e' || key === 'edit') && (words === '' || numberIn(rest[0] ?? '') !== undefined)) {
    const [only] = tasks
    if (words === '' && tasks.length === 1 && only !== undefined) return askHow(only)
    if (words === '') return repeatQuestion({ at: 'which' }, whichText(tasks))
    return chooseTask(words, tasks)
  }
  // A typo is not a reason that a planner could act on.
  if (line.length < 3)
    return repeatQuestion(firstGateState, `"${line}" is not one of: Enter, e, v, n. Or type what to change`)
  return done({ kind: 'no', reason: line })
}

/** Parses `3`, or `3` followed by the change. */
function chooseTask(line: string, tasks: readonly number[]): GateStep {
  const [first = '', ...rest] = line.split(/\s+/)
  if (line === '') return repeatQuestion(firstGateState, 'nothing was changed')
  const task = numberIn(first)
  if (task === undefined || !tasks.includes(task)) return noTask(first, tasks, { at: 'which' })
  return rest.length === 0 ? askHow(task) : chooseChange(task, rest.join(' '))
}

function chooseChange(task: number, line: string): GateStep {
  const key = line.toLowerCase()
  if (key === '') return repeatQuestion(firstGateState, 'nothing was changed')
  if (key === 'b' || key === 'brief') return done({ kind: 'brief', task })
  if (key === 'd' || key === 'drop') return done({ kind: 'drop', task })
  const [, agent] = /^@([^\s@]+)$/.exec(line) ?? []
  return agent === undefined ? askHow(task) : done({ kind: 'give', task, agent })
}

function askHow(task: number): GateStep {
  return repeatQuestion(
    { at: 'how', task },
    `task ${task}: b its brief, d drop it, @name another agent; Enter leaves it`,
  )
}

function noTask(name: string, tasks: readonly number[], state: GateState): GateStep {
  return repeatQuestion(state, `there is no task "${name}": ${whichText(tasks)}`)
}

function whichText(tasks: readonly number[]): string {
  return `which task? ${tasks.join(', ')}`
}

function numberIn(word: string): number | undefined {
  const [, digits] = /^(?:task:)?(\d{1,15})$/.exec(word) ?? []
  return digits === undefined ? undefined : Number(digits)
}

function done(decision: GateDecision): GateStep {
  return { state: firstGateState, decision }
}

function repeatQuestion(state: GateState, text: string): GateStep {
  return { state, decision: { kind: 'ask', text } }
}
