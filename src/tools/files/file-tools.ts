import type { Clock } from '../../domain/clock.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { editFile } from './edit-file.ts'
import { fileThreads } from './file-threads.ts'
import { listDir } from './list-dir.ts'
import { readFile } from './read-file.ts'
import { resolvePath } from './resolve-path.ts'
import { searchFiles } from './search-files.ts'
import { writeFile } from './write-file.ts'

/** The tools that read and change files in the session's folder. */
export function fileTools(clock: Clock): Tool[] {
  const threads = fileThreads(clock)
  return [readFile, listDir(threads), resolvePath, searchFiles(threads), writeFile, editFile]
}
