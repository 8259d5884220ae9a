//! Passkeys.

/// The texts of passkeys, on the login page and on their own.
pub(crate) struct PasskeyTexts {
    /// For who is new here.
    pub(crate) what: &'static str,
    /// Uses the passkey that this browser has used before; otherwise the page finds out whether the user has one.
    pub(crate) button: &'static str,
    pub(crate) question: &'static str,
    pub(crate) question_why: &'static str,
    pub(crate) have: &'static str,
    pub(crate) have_none: &'static str,
    /// In a browser that has used one.
    pub(crate) create: &'static str,
    /// The link to the passkey's own page.
    pub(crate) more: &'static str,
    /// While the device's own dialog is open.
    pub(crate) asking: &'static str,
    /// Browsers do not say whether the user has refused or has no passkey.
    pub(crate) cancelled: &'static str,
    pub(crate) no_prf: &'static str,
    /// The passkey was made, and has not been used a second time.
    pub(crate) not_confirmed: &'static str,
    pub(crate) confirm: &'static str,
    pub(crate) unsteady: &'static str,
    /// The passkey opens another account than the one that it was registered for.
    pub(crate) other_key: &'static str,
    /// What this is, on a page that offers passkeys.
    pub(crate) about: &'static str,
    /// Where the page offers nothing that this browser has.
    pub(crate) no_way: &'static str,
    pub(crate) failed: &'static str,
    pub(crate) made: &'static str,
    pub(crate) save_heading: &'static str,
    pub(crate) save_why: &'static str,
    pub(crate) passphrase: &'static str,
    pub(crate) save_and_log_in: &'static str,
    pub(crate) skip: &'static str,
    pub(crate) encrypting: &'static str,
    pub(crate) saved: &'static str,
    /// Of the passkey's own page.
    pub(crate) title: &'static str,
    pub(crate) needs_javascript: &'static str,
    pub(crate) ready: &'static str,
    pub(crate) recover_heading: &'static str,
    pub(crate) recover_why: &'static str,
    pub(crate) recover_file: &'static str,
    pub(crate) recover_passphrase: &'static str,
    pub(crate) recover_button: &'static str,
    pub(crate) decrypting: &'static str,
    pub(crate) not_opened: &'static str,
    pub(crate) key_heading: &'static str,
    pub(crate) key_why: &'static str,
    pub(crate) open: &'static str,
    pub(crate) opened: &'static str,
    pub(crate) public_key: &'static str,
    pub(crate) log_in: &'static str,
    pub(crate) save: &'static str,
    pub(crate) add_heading: &'static str,
    pub(crate) add_why: &'static str,
    pub(crate) add: &'static str,
    pub(crate) reveal_heading: &'static str,
    pub(crate) reveal_warning: &'static str,
    pub(crate) reveal: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) unknown: &'static str,
    pub(crate) again: &'static str,
    pub(crate) too_many: &'static str,
    pub(crate) not_offered: &'static str,
}

/// English.
pub(super) const ENGLISH: PasskeyTexts = PasskeyTexts {
    what: "New here? Your device makes a key for you. You confirm it with your face, your fingerprint or \
           your PIN.",
    button: "Continue with a passkey",
    question: "Have you logged in here with a passkey before?",
    question_why: "On this or another device. A new passkey is a new account.",
    have: "Yes, log in with it",
    have_none: "No, I am new here",
    create: "Make another account",
    more: "Recovery file, your key, another device",
    asking: "Confirm on your device.",
    cancelled: "Your device did not confirm. Try again, or choose another way.",
    no_prf: "This device or browser cannot make a key from a passkey. Choose another way.",
    not_confirmed: "Your passkey was made. Confirm once more: this page checks that it always gives the same key.",
    confirm: "Confirm once more",
    unsteady: "This passkey gives another key each time, so no account was made with it. Use another device, browser or \
               password manager, or choose another way.",
    other_key: "This passkey gives another key here than when it was made, so it does not open your account. Use the browser or \
                device with which you made it, or log in with your recovery file.",
    about: "You log in with a key of your own instead of a password. Your device keeps it as a passkey; a wallet, a browser \
            extension or a signer can do the same.",
    no_way: "This browser cannot log in here. Open this page in a browser with passkeys, for example on your phone.",
    failed: "That did not work. Try again.",
    made: "Your passkey is ready.",
    save_heading: "Save a recovery file",
    save_why: "If you lose all devices that have your passkey, only this file and its passphrase open your \
           account again. Nobody can restore it for you.",
    passphrase: "A passphrase for the file, at least 12 characters",
    save_and_log_in: "Save the file and log in",
    skip: "Log in without a file",
    encrypting: "The file is being made.",
    saved: "The file was saved.",
    title: "Your passkey and your key",
    needs_javascript: "This page needs JavaScript.",
    ready: "What you do here stays in this browser.",
    recover_heading: "Log in with a recovery file",
    recover_why: "Your key is opened in this browser, and this device gets a passkey for it.",
    recover_file: "Recovery file",
    recover_passphrase: "Its passphrase",
    recover_button: "Open the file and log in",
    decrypting: "The file is being opened.",
    not_opened: "The file could not be opened: it is no recovery file, or its passphrase is another.",
    key_heading: "Your key",
    key_why: "It is yours alone, and logs you in to other Nostr apps too.",
    open: "Show my key",
    opened: "This is your key.",
    public_key: "Your public key, which everybody may know:",
    log_in: "Log in",
    save: "Save the recovery file",
    add_heading: "Another passkey for this key",
    add_why: "Add one on this device or on a security key: if you lose one, the other still opens your \
           account.",
    add: "Add a passkey and log in",
    reveal_heading: "The secret key",
    reveal_warning: "Whoever has the secret key is you, for ever; it cannot be changed. Show it only when nobody else \
           can see it, and enter it only in apps that you trust.",
    reveal: "Show the secret key",
    refused: "The passkey was not accepted. Try again, or choose another way.",
    unknown: "This service does not know this passkey. Make a new one, or use your recovery file.",
    again: "That took too long. Try again.",
    too_many: "There is no room for another passkey. Use one that you have, or choose another way.",
    not_offered: "Passkeys are not offered here. Choose another way.",
};

/// German.
pub(super) const GERMAN: PasskeyTexts = PasskeyTexts {
    what: "Neu hier? Ihr Gerät erstellt einen Schlüssel für Sie. Sie bestätigen mit Gesicht, Fingerabdruck \
           oder PIN.",
    button: "Mit Passkey fortfahren",
    question: "Haben Sie sich hier schon einmal mit einem Passkey angemeldet?",
    question_why: "Auf diesem oder einem anderen Gerät. Mit einem neuen Passkey erhalten Sie ein neues Konto.",
    have: "Ja, damit anmelden",
    have_none: "Nein, ich bin neu hier",
    create: "Weiteres Konto erstellen",
    more: "Wiederherstellungsdatei, Ihr Schlüssel, weiteres Gerät",
    asking: "Bestätigen Sie auf Ihrem Gerät.",
    cancelled: "Ihr Gerät hat das nicht bestätigt. Versuchen Sie es noch einmal, oder wählen Sie eine andere Möglichkeit.",
    no_prf: "Dieses Gerät oder dieser Browser kann aus einem Passkey keinen Schlüssel erstellen. Wählen Sie \
           eine andere Möglichkeit.",
    not_confirmed: "Ihr Passkey ist erstellt. Bestätigen Sie noch einmal: Die Seite prüft, ob er immer denselben Schlüssel ergibt.",
    confirm: "Noch einmal bestätigen",
    unsteady: "Dieser Passkey ergibt jedes Mal einen anderen Schlüssel. Es wurde kein Konto damit erstellt. Verwenden Sie ein \
               anderes Gerät, einen anderen Browser oder Passwortmanager, oder wählen Sie eine andere Möglichkeit.",
    other_key: "Dieser Passkey ergibt hier einen anderen Schlüssel als bei seiner Erstellung und öffnet Ihr Konto deshalb nicht. \
                Verwenden Sie den Browser oder das Gerät, mit dem Sie ihn erstellt haben, oder melden Sie sich mit Ihrer \
                Wiederherstellungsdatei an.",
    about: "Statt mit einem Passwort melden Sie sich mit einem eigenen Schlüssel an. Ihr Gerät verwahrt ihn als Passkey; \
            auch eine Wallet, eine Browser-Erweiterung oder ein Signer kann das.",
    no_way: "Mit diesem Browser können Sie sich hier nicht anmelden. Öffnen Sie diese Seite in einem Browser mit Passkeys, zum Beispiel auf Ihrem Telefon.",
    failed: "Das hat nicht geklappt. Versuchen Sie es noch einmal.",
    made: "Ihr Passkey ist bereit.",
    save_heading: "Wiederherstellungsdatei speichern",
    save_why: "Wenn Sie alle Geräte mit Ihrem Passkey verlieren, kommen Sie nur mit dieser Datei und ihrer Passphrase \
           wieder an Ihr Konto. Niemand sonst kann es wiederherstellen.",
    passphrase: "Eine Passphrase für die Datei, mindestens 12 Zeichen",
    save_and_log_in: "Datei speichern und anmelden",
    skip: "Ohne Datei anmelden",
    encrypting: "Die Datei wird erstellt.",
    saved: "Die Datei wurde gespeichert.",
    title: "Ihr Passkey und Ihr Schlüssel",
    needs_javascript: "Diese Seite braucht JavaScript.",
    ready: "Was Sie hier tun, bleibt in diesem Browser.",
    recover_heading: "Mit einer Wiederherstellungsdatei anmelden",
    recover_why: "Ihr Schlüssel wird nur in diesem Browser entschlüsselt. Dieses Gerät erhält dafür einen Passkey.",
    recover_file: "Wiederherstellungsdatei",
    recover_passphrase: "Passphrase der Datei",
    recover_button: "Datei öffnen und anmelden",
    decrypting: "Die Datei wird geöffnet.",
    not_opened: "Die Datei lässt sich nicht öffnen: Es ist keine Wiederherstellungsdatei, oder die Passphrase \
           stimmt nicht.",
    key_heading: "Ihr Schlüssel",
    key_why: "Er gehört nur Ihnen. Sie können sich damit auch bei anderen Nostr-Apps anmelden.",
    open: "Meinen Schlüssel anzeigen",
    opened: "Das ist Ihr Schlüssel.",
    public_key: "Ihren öffentlichen Schlüssel darf jeder kennen:",
    log_in: "Anmelden",
    save: "Wiederherstellungsdatei speichern",
    add_heading: "Weiterer Passkey für diesen Schlüssel",
    add_why: "Fügen Sie auf diesem Gerät oder auf einem Sicherheitsschlüssel einen hinzu: Geht einer verloren, \
           kommen Sie mit dem anderen weiterhin an Ihr Konto.",
    add: "Passkey hinzufügen und anmelden",
    reveal_heading: "Der geheime Schlüssel",
    reveal_warning: "Wer den geheimen Schlüssel hat, kann sich für immer als Sie ausgeben; er lässt sich nicht \
           ändern. Zeigen Sie ihn nur an, wenn niemand zusieht, und geben Sie ihn nur in Apps ein, denen \
           Sie vertrauen.",
    reveal: "Geheimen Schlüssel anzeigen",
    refused: "Der Passkey wurde nicht angenommen. Versuchen Sie es noch einmal, oder wählen Sie eine andere \
           Möglichkeit.",
    unknown: "Dieser Dienst kennt diesen Passkey nicht. Erstellen Sie einen neuen, oder verwenden Sie Ihre \
           Wiederherstellungsdatei.",
    again: "Das hat zu lange gedauert. Versuchen Sie es noch einmal.",
    too_many: "Mehr Passkeys lassen sich hier nicht speichern. Verwenden Sie einen vorhandenen, oder wählen Sie \
           eine andere Möglichkeit.",
    not_offered: "Passkeys werden hier nicht angeboten. Wählen Sie eine andere Möglichkeit.",
};

/// Spanish.
pub(super) const SPANISH: PasskeyTexts = PasskeyTexts {
    what: "¿Es la primera vez? Su dispositivo crea una clave para usted. La confirma con la cara, la huella o \
           el PIN.",
    button: "Continuar con una llave de acceso",
    question: "¿Ya ha iniciado sesión aquí con una llave de acceso?",
    question_why: "En este dispositivo o en otro. Con una llave de acceso nueva tendrá una cuenta nueva.",
    have: "Sí, usarla",
    have_none: "No, es la primera vez",
    create: "Crear otra cuenta",
    more: "Archivo de recuperación, su clave, otro dispositivo",
    asking: "Confírmelo en su dispositivo.",
    cancelled: "Su dispositivo no lo ha confirmado. Inténtelo de nuevo o elija otra opción.",
    no_prf: "Este dispositivo o navegador no puede crear una clave a partir de una llave de acceso. Elija otra \
           opción.",
    not_confirmed: "Su llave de acceso está creada. Confírmelo otra vez: la página comprueba que siempre da la misma clave.",
    confirm: "Confirmar otra vez",
    unsteady: "Esta llave de acceso da una clave distinta cada vez, así que no se ha creado ninguna cuenta con ella. Use otro \
               dispositivo, navegador o gestor de contraseñas, o elija otra opción.",
    other_key: "Esta llave de acceso da aquí una clave distinta de la que dio al crearse, así que no abre su cuenta. Use el \
                navegador o el dispositivo con el que la creó, o inicie sesión con su archivo de recuperación.",
    about: "En lugar de una contraseña, usted inicia sesión con una clave propia. Su dispositivo la guarda como llave de \
            acceso; también puede hacerlo una cartera, una extensión del navegador o un firmante.",
    no_way: "Con este navegador no puede iniciar sesión aquí. Abra esta página en un navegador con llaves de acceso, por ejemplo en su teléfono.",
    failed: "No ha funcionado. Inténtelo de nuevo.",
    made: "Su llave de acceso está lista.",
    save_heading: "Guarde un archivo de recuperación",
    save_why: "Si pierde todos los dispositivos que tienen su llave de acceso, solo podrá volver a entrar en su \
           cuenta con este archivo y su contraseña. Nadie más puede recuperarla.",
    passphrase: "Una contraseña para el archivo, de al menos 12 caracteres",
    save_and_log_in: "Guardar el archivo e iniciar sesión",
    skip: "Iniciar sesión sin archivo",
    encrypting: "Se está creando el archivo.",
    saved: "El archivo se ha guardado.",
    title: "Su llave de acceso y su clave",
    needs_javascript: "Esta página necesita JavaScript.",
    ready: "Lo que haga aquí no sale de este navegador.",
    recover_heading: "Iniciar sesión con un archivo de recuperación",
    recover_why: "Su clave solo se descifra en este navegador, y este dispositivo recibe una llave de acceso para ella.",
    recover_file: "Archivo de recuperación",
    recover_passphrase: "Su contraseña",
    recover_button: "Abrir el archivo e iniciar sesión",
    decrypting: "Se está abriendo el archivo.",
    not_opened: "No se puede abrir el archivo: no es un archivo de recuperación o la contraseña no es correcta.",
    key_heading: "Su clave",
    key_why: "Es solo suya, y también le sirve para iniciar sesión en otras aplicaciones de Nostr.",
    open: "Mostrar mi clave",
    opened: "Esta es su clave.",
    public_key: "Su clave pública, que todos pueden conocer:",
    log_in: "Iniciar sesión",
    save: "Guardar el archivo de recuperación",
    add_heading: "Otra llave de acceso para esta clave",
    add_why: "Añada una en este dispositivo o en una llave de seguridad: si pierde una, podrá \
           seguir entrando con la otra.",
    add: "Añadir una llave de acceso e iniciar sesión",
    reveal_heading: "La clave secreta",
    reveal_warning: "Quien tiene la clave secreta puede hacerse pasar por usted para siempre; no se puede cambiar. \
           Muéstrela solo cuando nadie más pueda verla e introdúzcala solo en aplicaciones de confianza.",
    reveal: "Mostrar la clave secreta",
    refused: "La llave de acceso no se ha aceptado. Inténtelo de nuevo o elija otra opción.",
    unknown: "Este servicio no conoce esta llave de acceso. Cree una nueva o use su archivo de recuperación.",
    again: "Ha tardado demasiado. Inténtelo de nuevo.",
    too_many: "Aquí no se pueden guardar más llaves de acceso. Use una que ya tenga o elija otra opción.",
    not_offered: "Aquí no se ofrecen llaves de acceso. Elija otra opción.",
};
