import type { Clock } from '../domain/clock.ts'
import type { Tool } from '../domain/tool.ts'
import { fileThreads } from './file-threads.ts'
import { listDir } from './list-dir.ts'
import { readFile } from './read-file.ts'
import { resolvePath } from './resolve-path.ts'
import { searchFiles } from './search-files.ts'

/** The tools that look at the files of the session's folder and change nothing. */
export function fileTools(clock: Clock): Tool[] {
  const threads = fileThreads(clock)
  return [readFile, listDir(threads), resolvePath, searchFiles(threads)]
}
