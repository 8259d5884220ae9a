//! All texts of the pages. Another language is another constant of this type.

use usher_page_layout::Language;

/// The texts of one language. In those that take values, `{…}` names where each goes.
pub(crate) struct Texts {
    pub(crate) wants: &'static str,
    pub(crate) asks: &'static str,
    pub(crate) account: &'static str,
    pub(crate) other_account: &'static str,
    pub(crate) app: &'static str,
    pub(crate) help: &'static str,
    pub(crate) learns_heading: &'static str,
    pub(crate) learns_key: &'static str,
    pub(crate) learns_profile: &'static str,
    pub(crate) learns_email: &'static str,
    pub(crate) stays_logged_in: &'static str,
    pub(crate) goes_to: &'static str,
    pub(crate) allow: &'static str,
    pub(crate) deny: &'static str,
    pub(crate) leaving: &'static str,
    pub(crate) go_on: &'static str,
    pub(crate) go_to: &'static str,
    pub(crate) logout: &'static str,
    pub(crate) logout_question: &'static str,
    pub(crate) logout_question_by: &'static str,
    pub(crate) logged_out: Message,
    pub(crate) bad_request: Message,
    pub(crate) unknown_client: Message,
    pub(crate) wrong_redirect_uri: Message,
    pub(crate) over: Message,
    pub(crate) other_browser: Message,
    pub(crate) unavailable: Message,
}

/// A page that only says something.
pub(crate) struct Message {
    pub(crate) heading: &'static str,
    pub(crate) message: &'static str,
}

/// The texts of a language.
pub(crate) const fn of(language: Language) -> &'static Texts {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
        Language::Spanish => &SPANISH,
    }
}

const ENGLISH: Texts = Texts {
    wants: "Log in to {client}",
    asks: "{client} asks {service} who you are.",
    account: "Your account",
    other_account: "Use another account",
    app: "App",
    help: "Get help",
    learns_heading: "What the app learns",
    learns_key: "Your public Nostr key. Apps that know it know that you are the same user.",
    learns_profile: "Your public Nostr profile: name, picture and verified identifier.",
    learns_email: "An email address made of your key.",
    stays_logged_in: "It may ask for this again later, without asking you.",
    goes_to: "You go on to {host}. You are asked only this once.",
    allow: "Allow",
    deny: "Do not allow",
    leaving: "You are being sent on",
    go_on: "Continue",
    go_to: "Go to {client}",
    logout: "Log out",
    logout_question: "Do you want to log out? You stay logged in to the apps themselves.",
    logout_question_by: "{client} wants to log you out. Do you want to log out? You stay logged in to other apps.",
    logged_out: Message { heading: "You are logged out", message: "You can close this page." },
    bad_request: Message {
        heading: "This link is not valid",
        message: "The app has sent a request that cannot be understood. Return to the app and try again.",
    },
    unknown_client: Message {
        heading: "Unknown app",
        message: "The app that sent you here is not registered with this service.",
    },
    wrong_redirect_uri: Message {
        heading: "This link is not valid",
        message: "The app wants you to be sent to an address that is not registered for it. For your safety, you are not sent there.",
    },
    over: Message {
        heading: "This login is over",
        message: "It was completed already, or too much time has passed. Return to the app to log in again.",
    },
    other_browser: Message {
        heading: "This login was started elsewhere",
        message: "Finish it in the browser in which you started it. If you did not start it, somebody may be trying to use \
                  your login: close this page.",
    },
    unavailable: Message { heading: "The service is not available", message: "Please try again in a moment." },
};

const GERMAN: Texts = Texts {
    wants: "Bei {client} anmelden",
    asks: "{client} fragt {service}, wer Sie sind.",
    account: "Ihr Konto",
    other_account: "Anderes Konto verwenden",
    app: "App",
    help: "Hilfe",
    learns_heading: "Was die App erfährt",
    learns_key: "Ihren öffentlichen Nostr-Schlüssel. Apps, die ihn kennen, erkennen daran, dass Sie dieselbe Person sind.",
    learns_profile: "Ihr öffentliches Nostr-Profil: Name, Bild und bestätigte Kennung.",
    learns_email: "Eine E-Mail-Adresse, die aus Ihrem Schlüssel gebildet ist.",
    stays_logged_in: "Sie darf diese Angaben später erneut abrufen, ohne Sie zu fragen.",
    goes_to: "Weiter geht es zu {host}. Sie werden nur dieses eine Mal gefragt.",
    allow: "Erlauben",
    deny: "Nicht erlauben",
    leaving: "Sie werden weitergeleitet",
    go_on: "Weiter",
    go_to: "Zu {client}",
    logout: "Abmelden",
    logout_question: "Möchten Sie sich abmelden? Bei den Apps selbst bleiben Sie angemeldet.",
    logout_question_by: "{client} möchte Sie abmelden. Möchten Sie sich abmelden? Bei anderen Apps bleiben Sie angemeldet.",
    logged_out: Message { heading: "Sie sind abgemeldet", message: "Sie können diese Seite schließen." },
    bad_request: Message {
        heading: "Dieser Link ist ungültig",
        message: "Die App hat eine unverständliche Anfrage gesendet. Kehren Sie zur App zurück und versuchen Sie es erneut.",
    },
    unknown_client: Message {
        heading: "Unbekannte App",
        message: "Die App, von der Sie kommen, ist bei diesem Dienst nicht registriert.",
    },
    wrong_redirect_uri: Message {
        heading: "Dieser Link ist ungültig",
        message: "Die App möchte Sie an eine Adresse weiterleiten, die nicht für sie registriert ist. Zu Ihrer Sicherheit \
                  geschieht das nicht.",
    },
    over: Message {
        heading: "Diese Anmeldung ist beendet",
        message: "Sie wurde bereits abgeschlossen, oder es ist zu viel Zeit vergangen. Kehren Sie zur App zurück, um sich \
                  erneut anzumelden.",
    },
    other_browser: Message {
        heading: "Diese Anmeldung wurde woanders begonnen",
        message: "Schließen Sie sie in dem Browser ab, in dem Sie sie begonnen haben. Wenn Sie sie nicht begonnen haben, \
                  versucht vielleicht jemand, Ihre Anmeldung zu benutzen: Schließen Sie diese Seite.",
    },
    unavailable: Message {
        heading: "Der Dienst ist nicht verfügbar",
        message: "Bitte versuchen Sie es gleich noch einmal.",
    },
};

const SPANISH: Texts = Texts {
    wants: "Iniciar sesión en {client}",
    asks: "{client} pregunta a {service} quién es usted.",
    account: "Su cuenta",
    other_account: "Usar otra cuenta",
    app: "Aplicación",
    help: "Ayuda",
    learns_heading: "Qué recibe la aplicación",
    learns_key: "Su clave pública de Nostr. Las aplicaciones que la conocen sabrán que usted es la misma persona.",
    learns_profile: "Su perfil público de Nostr: nombre, imagen e identificador verificado.",
    learns_email: "Una dirección de correo formada con su clave.",
    stays_logged_in: "Puede volver a pedir estos datos más adelante sin preguntarle.",
    goes_to: "Continuará en {host}. Solo se le pregunta esta vez.",
    allow: "Permitir",
    deny: "No permitir",
    leaving: "Le estamos redirigiendo",
    go_on: "Continuar",
    go_to: "Ir a {client}",
    logout: "Cerrar sesión",
    logout_question: "¿Quiere cerrar la sesión? En las propias aplicaciones su sesión seguirá abierta.",
    logout_question_by: "{client} quiere cerrar su sesión. ¿Quiere cerrarla? En otras aplicaciones su sesión seguirá abierta.",
    logged_out: Message { heading: "Ha cerrado la sesión", message: "Puede cerrar esta página." },
    bad_request: Message {
        heading: "Este enlace no es válido",
        message: "La aplicación ha enviado una petición incomprensible. Vuelva a la aplicación e inténtelo de nuevo.",
    },
    unknown_client: Message {
        heading: "Aplicación desconocida",
        message: "La aplicación que le ha enviado aquí no está registrada en este servicio.",
    },
    wrong_redirect_uri: Message {
        heading: "Este enlace no es válido",
        message: "La aplicación quiere enviarle a una dirección que no está registrada para ella. Por su seguridad, no se le \
                  envía allí.",
    },
    over: Message {
        heading: "Este inicio de sesión ha terminado",
        message: "Ya se completó o ha pasado demasiado tiempo. Vuelva a la aplicación para iniciar sesión de nuevo.",
    },
    other_browser: Message {
        heading: "Este inicio de sesión se empezó en otro lugar",
        message: "Termínelo en el navegador en el que lo empezó. Si no lo empezó usted, puede que alguien intente usar su \
                  sesión: cierre esta página.",
    },
    unavailable: Message {
        heading: "El servicio no está disponible",
        message: "Inténtelo de nuevo dentro de un momento.",
    },
};
