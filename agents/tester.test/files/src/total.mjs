import { readFileSync } from 'node:fs'

const lines = readFileSync(process.argv[2], 'utf8').split('\n')
const numbers = []

for (const [at, line] of lines.entries()) {
  if (line.trim() === '') continue
  const number = Number.parseInt(line, 10)
  if (Number.isNaN(number)) {
    console.error(`line ${at}: "${line}" is no number`)
    process.exit(1)
  }
  numbers.push(number)
}

console.log(numbers.reduce((sum, number) => sum + number))
