/** What became of a task that had to be done before. */
export interface ResultBefore {
  /** Of the result; null where the task has none. */
  id: number | null
  agent: string
  title: string
  status: string
  output: string
}

/** Research that the runtime has put in the place of a pointer. */
export interface Research {
  id: number
  status: string
  output: string
}

/** What somebody is asked to do, in the parts that the runtime writes it in. */
export interface Order {
  /** The task itself. */
  asked: string
  brief: string
  before: ResultBefore[]
}

/** Takes a message apart. What a person writes is all task. */
export function readOrder(message: string): Order {
  const [head, results = ''] = splitAt(message, '\n\n## Results of the tasks before\n')
  const [task, brief = ''] = splitAt(head, '\n\n## Brief\n')
  return { asked: task.trim().replace(/^@[\w.-]+\s+/, ''), brief: brief.trim(), before: readResults(results) }
}

function readResults(text: string): ResultBefore[] {
  const heading = /^### (?:\[agent_result:(\d+)\] )?(?:@(\S+) )?"(.*)" (?:was )?(\w+)$/
  const results: (ResultBefore & { lines: string[] })[] = []
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

/** The results that stand in a message in the place of pointers. */
export function researchIn(message: string): Research[] {
  const found = message.matchAll(/^\[agent_result:(\d+)\] @?\S+ (\w+):\n([\s\S]*?)\n\[end of agent_result:\1\]$/gm)
  return [...found].map(([, id, status = '', output = '']) => ({ id: Number(id), status, output }))
}

function splitAt(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)]
}
