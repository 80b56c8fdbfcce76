import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import './tokens.css'
import './base.css'

const place = document.getElementById('page')
if (place) createRoot(place).render(<App />)
