export { assertShown, trustFiles, type UntrustedDirectory, untrustedIn } from '../tools/guard/untrusted-files.ts'
