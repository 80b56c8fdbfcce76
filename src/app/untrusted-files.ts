export { assertShown, trustFiles, type Untrusted, untrustedIn } from '../tools/guard/untrusted-files.ts'
