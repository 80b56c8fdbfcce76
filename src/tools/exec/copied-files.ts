import { fileNameMatcher, wordsBelow, wordsOf } from './command-words.ts'

/** Two files of one folder: what a command may have made, and of what. Both paths are relative to the folder. */
interface Transfer {
  folder: string
  source: string
  target: string
}

// Programs whose last word says where the files go, and such as name both in other ways.
const copier = /(?:^|[\s|(/])(?:cp|mv|rsync|ln|ditto|scp|git(?: -\S+| \S+=\S+)* mv)\s|^\s*(?:sudo )?install\s/
const packer = /(?:^|[\s|(/])(?:tar|cpio|dd|tee|split|git (?:archive|checkout-index))\s|\b(?:copy|cp|rename|move)\w*\(/i
// Programs that write what they read to their output, and where that goes.
const filter =
  /(?:^|[\s|(/])(?:cat|head|tail|sed|awk|tac|tr|sort|uniq|cut|grep|iconv|zcat|gzip|gunzip|xz|base64|git show)\s/
const redirection = />{1,2}\s*(?:"([^"]+)"|'([^']+)'|([^\s;|&)"']+))/g

/** Whether a command copies or moves the source to the target, as far as one of its steps tells: not if it only looks at it. */
export function transfersFile(command: string, { folder, source, target }: Transfer): boolean {
  return stepsOf(command).some((step) => {
    const program = withoutTexts(step)
    const isCopied = copier.test(program) && leadsTo(lastWord(step), { folder, target })
    const isPacked = packer.test(step) && leadsTo(step, { folder, target })
    const isWritten = filter.test(program) && outputsOf(step).some((word) => leadsTo(word, { folder, target }))
    if (!isCopied && !isPacked && !isWritten) return false
    return isWritten && !isCopied ? mayName(step, folder, [source]) : mayName(step, folder, withFolders(source))
  })
}

const restorer =
  /(?:^|[\s|(/])(?:git(?: -\S+| \S+=\S+)* (?:checkout(?! -b)|restore|stash|reset|revert|pull|merge|rebase|switch(?! -c)|cherry-pick|apply|am)|hg|svn|jj|patch|tar|unzip|gunzip|cpio)(?:\s|$)/

/** Whether a command may bring back what a file had before: by a program for that, or by a copy that is put in its place. */
export function mayRestore(command: string, { folder, path }: { folder: string; path: string }): boolean {
  return stepsOf(command).some((step) => {
    const program = withoutTexts(step)
    return restorer.test(program) || (copier.test(program) && leadsTo(lastWord(step), { folder, target: path }))
  })
}

function stepsOf(command: string): string[] {
  return command.split(/&&|\|\||[;\n]|&(?!\d)/)
}

/** Without quoted texts of several words: what they say is done by no program of this step. */
function withoutTexts(step: string): string {
  return step.replace(/'[^']*\s[^']*'|"[^"]*\s[^"]*"/g, "''").trimStart()
}

/** The last word of a step, or the one that `-t` names, where a copier puts files. */
function lastWord(step: string): string {
  const into = /\s(?:-t|--target-directory)[\s=]+(\S+)/.exec(step)?.[1]
  return into ?? /("[^"]*"|'[^']*'|(?:\\.|[^\s\\])+)[\s)\\]*$/.exec(step.replace(/\s*\d?>.*$/, ''))?.[1] ?? ''
}

function outputsOf(step: string): string[] {
  return [...step.matchAll(redirection)].map(([, double, single, plain]) => double ?? single ?? plain ?? '')
}

/** Whether a word, or one of a text, is the target, a folder above it, or one that only a shell knows. */
function leadsTo(text: string, { folder, target }: Omit<Transfer, 'source'>): boolean {
  return /(?:^|[\s"'])\.{1,2}\/?["']?(?:\s|$)/.test(text) || mayName(text, folder, withFolders(target))
}

function withFolders(path: string): string[] {
  const names = path.split('/')
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}

/** Whether a word of a text may be one of these paths: an expansion may be any. */
function mayName(text: string, folder: string, paths: readonly string[]): boolean {
  const inFolder = text.replaceAll('$PWD', folder).replaceAll('$(pwd)', folder)
  if (/[$`]|\{\}/.test(inFolder)) return true
  const plain = inFolder.replace(/\\ /g, ' ')
  const literal = [...plain.matchAll(/"([^"]+)"|'([^']+)'|([^\s"']+)/g)].map(
    (found) => found[1] ?? found[2] ?? found[3] ?? '',
  )
  const spaced = inFolder.includes('\\ ') ? [plain.trim(), ...plain.split(/\s-\S+\s|\s(?=\S+$)/)] : []
  const words = wordsBelow(
    [folder],
    [...literal, ...spaced, ...literal.flatMap((word) => word.split(/[=:]/)), ...wordsOf(inFolder)],
  )
  const names = words.map((word) => word.replace(/^(?:\.{1,2}\/)+/, '').replace(/\/+$/, ''))
  const isNamed = fileNameMatcher(words)
  return paths.some(
    (path) => isNamed(path) || names.some((name) => name !== '' && (path === name || path.endsWith(`/${name}`))),
  )
}
