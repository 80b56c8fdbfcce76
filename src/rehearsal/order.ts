/** Result of a task that this one depends on. */
export interface EarlierResult {
  /** Id of the result; null if the task has none. */
  id: number | null
  agent: string
  title: string
  status: string
  output: string
}

/** A result that the runtime inserted in place of a pointer. */
interface Research {
  id: number
  status: string
  output: string
}

/** A task message, split into the sections that the runtime writes. */
export interface WorkOrder {
  /** The task itself. */
  task: string
  brief: string
  before: EarlierResult[]
}

/** Splits a message into its sections. A user's message is all task. */
export function parseWorkOrder(message: string): WorkOrder {
  const [head, results = ''] = splitAt(message, '\n\n## Results of the tasks before\n')
  const [task, brief = ''] = splitAt(head, '\n\n## Brief\n')
  return { task: task.trim().replace(/^@[\w.-]+\s+/, ''), brief: brief.trim(), before: readResults(results) }
}

function readResults(text: string): EarlierResult[] {
  const heading = /^### (?:\[agent_result:(\d+)\] )?(?:@(\S+) )?"(.*)" (?:was )?(\w+)$/
  const results: (EarlierResult & { lines: string[] })[] = []
  for (const line of text.split('\n')) {
    const found = heading.exec(line)
    if (!found) {
      results.at(-1)?.lines.push(line)
      continue
    }
    const [, id, agent = '', title = '', status = ''] = found
    results.push({ id: id === undefined ? null : Number(id), agent, title, status, output: '', lines: [] })
  }
  return results.map(({ lines, ...result }) => ({ ...result, output: lines.join('\n').trim() }))
}

/** Results that were inserted in place of pointers. */
export function researchIn(message: string): Research[] {
  const found = message.matchAll(/^\[agent_result:(\d+)\] @?\S+ (\w+):\n([\s\S]*?)\n\[end of agent_result:\1\]$/gm)
  return [...found].map(([, id, status = '', output = '']) => ({ id: Number(id), status, output }))
}

function splitAt(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)]
}
