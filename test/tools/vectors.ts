import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { canary, type TestFolder } from './folder.ts'

/** Links in the folder that lead out of it, each in its own way. */
export function addLinksOut({ path, outside }: TestFolder): void {
  const links = {
    'link-file': join(outside, 'secret.txt'),
    'link-dir': outside,
    'link-relative': '../folder-beside',
    'link-deep': `${path}/../folder-beside/secret.txt`,
    'link-to-link': 'link-dir/secret.txt',
    'link-dangling': join(outside, 'not-there-yet'),
    'link-proc': '/proc/self/root',
    'link-cwd': '/proc/self/cwd',
    'link-root': '/',
    'sub/link-up': '../..',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(path, name))
}

/** What a file tool is called with, besides the path. */
export function inputFor(tool: string, path: string): Record<string, unknown> {
  const more: Record<string, object> = {
    search_files: { pattern: 'CANARY' },
    write_file: { content: 'written\n' },
    edit_file: { old_text: 'CANARY', new_text: 'edited' },
  }
  return { ...more[tool], path }
}

/** Ways in which a path was ever made to lead out of where it should stay. */
export function vectors({ path, outside }: Pick<TestFolder, 'path' | 'outside'>): string[] {
  const beside = 'folder-beside/secret.txt'
  const ups = ['..', '../', './..', '../.', 'sub/../..', 'sub/./../..', 'missing/../..', '.../..', '....//..']
  const encoded = ['%2e%2e', '..%2f', '%2e%2e%2f', '..%252f', '%c0%ae%c0%ae', '..%c0%af', '&#46;&#46;', '\\x2e\\x2e']
  const lookalikes = ['．．', '‥', '․․', '。。', '../'.normalize('NFKC'), '..／', '..∕', '..⁄']
  const controls = ['\0', 'a.txt\0', '\n', '\r', '\t', '\x1b[2J', '\x7f', '\u0085', '\u2028']
  const roots = ['~', '~root', '$HOME', '`pwd`', '$(pwd)', '-', '--', '|cat', '*', '@', '@/', 'C:', 'C:/', '//', '\\\\']
  const schemes = [
    'file:',
    'file://',
    'file:///',
    'FILE://',
    'http://',
    'data:',
    'php://filter/',
    'jar:',
    'view-source:file://',
  ]
  return [
    ...[...ups, ...encoded, ...lookalikes].flatMap((up) => [up, `${up}/${beside}`, `${up}/`.repeat(12) + beside]),
    ...controls.flatMap((control) => [
      control,
      `${control}../${beside}`,
      `..${control}/${beside}`,
      `../${beside}${control}`,
    ]),
    ...roots.flatMap((root) => [root, `${root}/../${beside}`, `${root}${outside}/secret.txt`]),
    ...schemes.flatMap((scheme) => [`${scheme}${outside}/secret.txt`, `${scheme}../${beside}`]),
    ...['..\\folder-beside\\secret.txt', '..\\../folder-beside', `\\\\?\\${outside}`, '\\\\host\\share\\secret.txt'],
    ...[outside, `${outside}/secret.txt`, `${outside}/${canary}.txt`, `/${outside}`, `${path}/../${beside}`],
    // A neighbour whose name begins as the folder's does.
    ...[`${path}-beside`, `${path}-beside/secret.txt`, `${path}/../folder-beside`],
    ...['/', '/etc/passwd', '/proc/self/environ', '/proc/self/fd/0', '/dev/stdin', '/dev/fd/0'],
    ...[`/proc/self/root${outside}/secret.txt`, `/proc/self/cwd/../${beside}`, `/proc/self/root${path}/../${beside}`],
    ...[
      'link-file',
      'link-dir',
      'link-dir/secret.txt',
      `link-dir/${canary}.txt`,
      'link-relative/secret.txt',
      'link-deep',
    ],
    ...['link-to-link', 'link-dangling', 'link-cwd', 'link-root', `link-proc${outside}/secret.txt`],
    ...[`link-root${outside}/secret.txt`, `sub/link-up/${beside}`, 'sub/link-up', `sub/link-up/folder/../${beside}`],
    ...['', ' ', '.. ', ' ..', '..;/', 'a'.repeat(5000), '../'.repeat(1300), '\ud800', '\u202e../'],
  ]
}
