import { nearest } from '../text/nearest.ts'

/** Tools that read memories and narratives. */
const memoryReaders = ['memory_query', 'recall', 'narrative_search'] as const

/** Tools that an agent file can request. */
export const availableTools = [
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
  ...memoryReaders,
] as const

/** Tools that write memories: only for agents that talk with the user. */
export const memoryWriters = [
  'memory_store',
  'memory_update',
  'memory_reinforce',
  'memory_demote',
  'memory_trust',
  'remember',
  'narrative_update',
] as const

export function isMemoryWriter(name: string): boolean {
  return (memoryWriters as readonly string[]).includes(name)
}

/** Whether calls of this tool hold what is private to the owner. */
export function isMemoryTool(name: string): boolean {
  return isMemoryWriter(name) || (memoryReaders as readonly string[]).includes(name)
}

/** Tools that delegate: only for the coordinator. */
export const delegatingTools = [
  'spawn_agent',
  'run_project',
  'wait',
  'task_list',
  'task_update',
  'list_agents',
] as const

/** Tool that delegates to an agent of the registry: for the coordinator, and for agents that work alone. */
export const delegateTool = 'delegate'

/** Tools that start and watch sub-agents: for agents that work alone, down to the depth that the owner allows. */
export const subagentTools: readonly string[] = ['sessions_spawn', 'subagents', 'agents_list']

/** Tool for jobs: only for agents that talk with the user. */
export const cronToolName = 'cron'

/** Tools that an agent file never gets, even if it lists them: a subagent starts no agents and writes no memories. */
export const forbiddenForAgents: readonly string[] = [
  ...delegatingTools,
  ...memoryWriters,
  ...subagentTools,
  ...[delegateTool, cronToolName],
]

/** Other programs' names for our tools, without case, `_` and `-`. */
const spellings: Readonly<Record<string, string>> = {
  ...all('read_file', ['read', 'view', 'cat', 'notebookread', 'readmanyfiles', 'viewfile', 'readfiles']),
  // Not search_files: it also shows file contents.
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

/** Bookkeeping tools of other programs, which an agent here does not need. */
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

/** Tools of other programs without a counterpart here, and the closest one. */
const related: Readonly<Record<string, string>> = {
  ...all('web_fetch', ['websearch', 'googlewebsearch', 'browser', 'browse']),
  ...all('edit_file', ['notebookedit']),
}

/** Names of all tools of Heddle. */
export const toolNames: readonly string[] = [
  ...availableTools,
  ...delegatingTools,
  ...memoryWriters,
  ...subagentTools,
  ...[delegateTool, cronToolName],
]

const ours = new Map(toolNames.map((name) => [plain(name), name]))

/** Heddle's name for a tool in any spelling; undefined when there is none. */
export function canonicalToolName(spelling: string): string | undefined {
  const word = plain(spelling)
  return ours.get(word) ?? (Object.hasOwn(spellings, word) ? spellings[word] : undefined)
}

/** Whether it is a bookkeeping tool of another program. */
export function isBookkeeping(spelling: string): boolean {
  return bookkeeping.has(plain(spelling))
}

/** The tool that a name most likely means, or the closest counterpart. */
export function nearestTool(spelling: string): string | undefined {
  if (Object.hasOwn(related, plain(spelling))) return related[plain(spelling)]
  const close = nearest(spelling.toLowerCase().replaceAll('-', '_'), availableTools)
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
