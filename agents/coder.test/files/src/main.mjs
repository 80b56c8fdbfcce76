import { duration } from './duration.mjs'

console.log(duration(Number(process.argv[2])))
