import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** System directories with the files that `git init` copies; no agent writes there. */
const templates = [
  '/usr',
  '/usr/local',
  '/opt/homebrew',
  '/opt/local',
  '/Library/Developer/CommandLineTools/usr',
  '/Applications/Xcode.app/Contents/Developer/usr',
].map((prefix) => join(prefix, 'share/git-core/templates/hooks'))

/** Whether a file is a sample hook exactly as git installs it. */
export function isGitSample(name: string, bytes: Buffer): boolean {
  if (!/^[\w-]+\.sample$/.test(name)) return false
  return templates.some((folder) => {
    try {
      return readFileSync(join(folder, name)).equals(bytes)
    } catch {
      return false
    }
  })
}
