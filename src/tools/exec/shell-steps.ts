/** A program that a command runs, as far as its text tells. */
export interface ShellProgram {
  /** Without its directory; of git with the subcommand, as `git mv`. */
  name: string
  /** What stands behind the name, and files that it reads; each with its possible values. */
  words: string[][]
  /** Files that its output goes to. */
  outputs: string[][]
  /** Those of them of which nothing else is left. */
  overwrites: string[][]
}

/** Stands for a part of a word that only a shell knows. */
export const unknownPart = '\u0000'

/** Max values of a word, and depth of commands in commands. */
const maxValues = 64
const maxDepth = 3

/**
 * The steps of a command, each with the programs of its pipe. Texts, comments and what a program reads from the command itself are
 * none. Values of variables are known where the command itself assigns them, or loops over them.
 */
export function shellSteps(command: string, depth = 0): ShellProgram[][] {
  const variables = new Map<string, string[]>()
  const steps: ShellProgram[][] = []
  /** Where groups begin that have not ended. */
  const groups: number[] = []
  for (const step of splitSteps(readTokens(withoutHereDocuments(command)))) {
    const first = firstWords(step)
    if (first.some((word) => groupBegin.test(word))) groups.push(steps.length)
    const programs = step.flatMap((tokens) => programsOf(tokens, variables))
    if (first.some((word) => groupEnd.test(word))) addOutputs(steps.slice(groups.pop() ?? steps.length), programs)
    steps.push(programs)
    if (depth < maxDepth)
      for (const { name, words } of programs)
        for (const inner of commandsGivenTo(name, words)) steps.push(...shellSteps(inner, depth + 1))
  }
  return steps.filter((programs) => programs.length > 0)
}

const groupBegin = /^(?:\(|\{|for|while|until|if|case)$/
const groupEnd = /^(?:\)|\}|done|fi|esac)$/

/** The keywords that a step begins with, and the word behind them. */
function firstWords([tokens = []]: readonly ShellToken[][]): string[] {
  const words = tokens.map(({ text }) => text)
  return words.slice(0, words.findIndex((word) => !keyword.test(word)) + 1 || words.length)
}

/** What the programs of a group write goes where its end says, through filters at most. */
function addOutputs(group: readonly ShellProgram[][], ends: readonly ShellProgram[]): void {
  const programs = group.flat()
  if (programs.length === 0 || !ends.every(({ name }) => name === '' || filters.has(name))) return
  for (const { outputs, overwrites } of ends) {
    for (const program of programs) program.outputs.push(...outputs)
    programs[0]?.overwrites.push(...overwrites.splice(0))
  }
}

/** Programs that write what they read to their output. */
export const filters = new Set(
  'cat head tail sed awk tac tr sort uniq cut grep iconv zcat gzip gunzip xz base64'.split(' ').concat('git show'),
)

function withoutHereDocuments(command: string): string {
  return command.replace(/<<-?\s*(["']?)(\w+)\1([^\n]*)\n(?:[\s\S]*?\n)?[ \t]*\2[ \t]*(?=\n|$)/g, '$3')
}

interface ShellToken {
  text: string
  isOperator: boolean
}

// \x60 is a backtick. Lengths are bounded, so that unclosed ones cost little.
const piece = String.raw`'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]|\$\((?:[^()]|\([^()]*\)){0,1000}\)|\$\{[^}]{0,200}\}|\x60[^\x60]{0,1000}\x60`
const blank = String.raw`(?:[ \t\r]|\\\n)+|#[^\n]*`
const operator = String.raw`\d*>&\d+|&&|\|\||;;|\|&|&>>?|\d*>>?\|?|<<<|\d*<|[;&|()\n]`
const token = new RegExp(
  String.raw`${blank}|(?<operator>${operator})|(?<word>(?:${piece}|[^\s;&|()<>'"\\\x60])+)|[\s\S]`,
  'g',
)

function readTokens(command: string): ShellToken[] {
  return [...command.matchAll(token)].flatMap(({ groups }) => {
    const { operator, word } = groups ?? {}
    if (operator !== undefined) return { text: operator, isOperator: true }
    return word === undefined ? [] : { text: word, isOperator: false }
  })
}

/** Tokens by step and program. */
function splitSteps(tokens: readonly ShellToken[]): ShellToken[][][] {
  const steps: ShellToken[][][] = [[[]]]
  for (const each of tokens) {
    if (each.isOperator && /^(?:&&|\|\||;;?|&|\n)$/.test(each.text)) steps.push([[]])
    else if (each.isOperator && /^[()]$/.test(each.text)) steps.push([[{ ...each, isOperator: false }]])
    else if (each.isOperator && /^\|&?$/.test(each.text)) steps.at(-1)?.push([])
    else steps.at(-1)?.at(-1)?.push(each)
  }
  return steps
}

const keyword =
  /^(?:do|done|then|else|elif|if|fi|esac|while|until|time|!|\{|\}|\(|\)|sudo|env|nohup|exec|command|builtin|nice)$/

/** The programs of one part of a pipe: one, or those that it runs. */
function programsOf(tokens: readonly ShellToken[], variables: Map<string, string[]>): ShellProgram[] {
  const words: string[][] = []
  const written: Written = { outputs: [], overwrites: [] }
  for (let at = 0; at < tokens.length; at++) {
    const { text = '', isOperator } = tokens[at] ?? {}
    if (!isOperator) {
      words.push(...readWords(text, variables))
      continue
    }
    if (/&\d+$/.test(text)) continue
    const [file = []] = readWords(tokens[++at]?.text ?? '', variables)
    if (text.includes('>')) written.outputs.push(file)
    else if (text !== '<<<') words.push(file)
    if (text.includes('>') && !text.includes('>>')) written.overwrites.push(file)
  }
  const plain = withoutPrefixes(words, variables)
  const [[name = ''] = [], ...others] = plain
  if (name === '' && written.outputs.length === 0) return []
  const base = name.split('/').at(-1) ?? ''
  if (base === 'for') {
    const [[variable = ''] = [], , ...values] = others
    variables.set(variable, values.flat().slice(0, maxValues))
    return []
  }
  if (base === 'xargs') return programAt(withoutOptions(others), written)
  const run = others.findIndex(([word = '']) => /^-(?:exec|execdir|ok)$/.test(word))
  if (base === 'find' && run >= 0) {
    const found = others[others.findIndex(([word]) => word === '-name') + 1] ?? [unknownPart]
    const end = others.findIndex(([word], at) => at > run && (word === ';' || word === '+'))
    const inner = others.slice(run + 1, end < 0 ? undefined : end)
    return programAt(
      inner.map((values) => (values.includes('{}') ? found : values)),
      written,
    )
  }
  return programAt(plain, written)
}

type Written = Pick<ShellProgram, 'outputs' | 'overwrites'>

function programAt([[name = ''] = [], ...words]: readonly string[][], written: Written): ShellProgram[] {
  const base = name.split('/').at(-1) ?? ''
  if (base !== 'git') return [{ name: base, words, ...written }]
  const rest = [...words]
  while (rest[0]?.[0]?.startsWith('-')) rest.splice(0, /^-[cC]$/.test(rest[0][0]) ? 2 : 1)
  const [[subcommand = ''] = [], ...others] = rest
  return [{ name: `git ${subcommand}`, words: others, ...written }]
}

/** Without keywords, programs that run others, and assignments, which are remembered. */
function withoutPrefixes(words: readonly string[][], variables: Map<string, string[]>): string[][] {
  let at = 0
  for (; at < words.length; at++) {
    const values = words[at] ?? []
    const [, name, value] = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(values[0] ?? '') ?? []
    if (name !== undefined && value !== undefined)
      variables.set(
        name,
        values.map((each) => each.slice(name.length + 1)),
      )
    else if (!keyword.test(values[0] ?? '')) break
  }
  return words.slice(at)
}

function withoutOptions(words: readonly string[][]): string[][] {
  let at = 0
  for (; words[at]?.[0]?.startsWith('-'); at++) if (/^-[InPLds]$/.test(words[at]?.[0] ?? '')) at++
  return words.slice(at).map((values) => (values.includes('{}') ? [unknownPart] : values))
}

/** Commands that a shell is given as a text. */
function commandsGivenTo(name: string, words: readonly string[][]): string[] {
  if (!/^(?:ba|da|z|k)?sh$/.test(name)) return []
  const at = words.findIndex(([word = '']) => /^-\w*c$/.test(word))
  return at < 0 ? [] : (words[at + 1] ?? [])
}

const partOfWord = new RegExp(String.raw`${piece}|\$\w+|[\s\S]`, 'g')

/** The words that a token stands for, each with its possible values: `f{,.bak}` stands for two. */
function readWords(text: string, variables: ReadonlyMap<string, string[]>): string[][] {
  const [, before, choice, after] = /^([^'"{}$]*)\{([^{}'"]*,[^{}'"]*)\}([^'"{}]*)$/.exec(text) ?? []
  if (choice !== undefined) return choice.split(',').flatMap((each) => readWords(`${before}${each}${after}`, variables))
  return [readValues(text, variables)]
}

function readValues(text: string, variables: ReadonlyMap<string, string[]>): string[] {
  let values = ['']
  for (const [each] of text.matchAll(partOfWord)) {
    const next = valuesOfPart(each, variables)
    values = values.flatMap((value) => next.map((added) => value + added)).slice(0, maxValues)
  }
  return values
}

function valuesOfPart(text: string, variables: ReadonlyMap<string, string[]>): string[] {
  if (text === '\\\n') return ['']
  if (text.length > 1 && text.startsWith("'")) return [text.slice(1, -1)]
  if (text.length > 1 && text.startsWith('"')) return readValues(text.slice(1, -1).replaceAll("'", "\\'"), variables)
  if (text.length > 1 && text.startsWith('\\')) return [text.slice(1)]
  if (/^(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)$/.test(text)) return ['.']
  if (text.length > 1 && /^[$`]/.test(text)) {
    const [, name = ''] = /^\$\{?(\w+)\}?$/.exec(text) ?? []
    return variables.get(name) ?? [unknownPart]
  }
  return [text]
}
