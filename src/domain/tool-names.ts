import { nearest } from './nearest.ts'

/** Tools that an agent can be given today. */
export const presentTools = [
  'read_file',
  'list_dir',
  'resolve_path',
  'search_files',
  'write_file',
  'edit_file',
  'exec',
  'web_fetch',
  'plan_tasks',
  'read_result',
  'project_status',
  'memory_query',
  'recall',
  'narrative_search',
] as const

/** Tools that write down what is known: for whoever talks with a person. */
export const memoryWriters = [
  'memory_store',
  'memory_update',
  'memory_reinforce',
  'memory_demote',
  'remember',
  'narrative_update',
] as const

export function isMemoryWriter(name: string): boolean {
  return (memoryWriters as readonly string[]).includes(name)
}

/** Tools that delegate: they exist for the coordinator, and for nobody else. */
export const delegatingTools = [
  'spawn_agent',
  'run_project',
  'wait',
  'task_list',
  'task_update',
  'list_agents',
] as const

/** What an agent of a file never has, whatever the file says: whoever works for others starts nobody and remembers nothing. */
export const neverForAgents: readonly string[] = [
  ...delegatingTools,
  ...memoryWriters,
  ...['sessions_spawn', 'delegate', 'subagents', 'cron'],
]

/** Names that are promised: a file may list them, and the tool is there for it as soon as it is built. */
export const promisedTools = [...['subagents', 'agents_list', 'delegate', 'cron']] as const

/** How other programs spell what we have, without case, `_` and `-`. */
const spellings: Readonly<Record<string, string>> = {
  ...all('read_file', ['read', 'view', 'cat', 'notebookread', 'readmanyfiles', 'viewfile', 'readfiles']),
  // Not search_files: that one also shows what is in the files.
  ...all('list_dir', ['ls', 'list', 'glob', 'listdirectory', 'listfiles', 'findfiles']),
  ...all('search_files', ['grep', 'search', 'ripgrep', 'searchfilecontent', 'grepsearch', 'codesearch', 'codebase']),
  ...all('write_file', ['write', 'create', 'createfile', 'savefile']),
  ...all('edit_file', ['edit', 'multiedit', 'strreplace', 'replace', 'patch', 'applypatch', 'editfiles', 'update']),
  ...all('exec', ['bash', 'shell', 'sh', 'terminal', 'execute', 'runcommand', 'runcommands', 'runshellcommand']),
  ...all('exec', ['powershell', 'executecommand', 'command', 'runinterminal']),
  ...all('web_fetch', ['fetch', 'fetchurl', 'fetchwebpage', 'httpfetch', 'readurl']),
  ...all('spawn_agent', ['task', 'agent', 'subagent', 'runsubagent', 'newtask']),
  ...all('list_agents', ['listskills']),
}

/** What other programs need for their own bookkeeping: an agent lacks nothing without it. */
const bookkeeping = new Set([
  ...['todowrite', 'todoread', 'todo', 'todos', 'updateplan', 'exitplanmode', 'enterplanmode', 'think', 'thinking'],
  ...['bashoutput', 'killshell', 'killbash', 'process', 'taskoutput', 'skill', 'slashcommand', 'toolsearch'],
  ...[
    'askuserquestion',
    'question',
    'structuredoutput',
    'sequentialthinking',
    'mcpsequentialthinkingsequentialthinking',
  ],
])

/** Tools of other programs that we have no counterpart to, and what comes nearest. */
const related: Readonly<Record<string, string>> = {
  ...all('web_fetch', ['websearch', 'googlewebsearch', 'browser', 'browse']),
  ...all('edit_file', ['notebookedit']),
}

const ours = new Map(
  [...presentTools, ...delegatingTools, ...memoryWriters, 'sessions_spawn', ...promisedTools].map((name) => [
    plain(name),
    name as string,
  ]),
)

/** Our name for a tool, however it is spelled; undefined when there is none. */
export function toolNamed(spelling: string): string | undefined {
  const word = plain(spelling)
  return ours.get(word) ?? (Object.hasOwn(spellings, word) ? spellings[word] : undefined)
}

/** Whether a tool is one that nobody misses here. */
export function isBookkeeping(spelling: string): boolean {
  return bookkeeping.has(plain(spelling))
}

/** Whether a name is promised and not there yet. */
export function isPromised(name: string): boolean {
  return (promisedTools as readonly string[]).includes(name)
}

/** The tool that a name most likely meant, or that comes nearest to what it means elsewhere. */
export function nearestTool(spelling: string): string | undefined {
  if (Object.hasOwn(related, plain(spelling))) return related[plain(spelling)]
  const close = nearest(spelling.toLowerCase().replaceAll('-', '_'), [...presentTools, ...promisedTools])
  if (close !== undefined) return close
  const word = nearest(plain(spelling), Object.keys(spellings))
  return word === undefined ? undefined : spellings[word]
}

function plain(spelling: string): string {
  return spelling
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '')
}

function all(name: string, words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.map((word) => [word, name]))
}
